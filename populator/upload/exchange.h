/* SPDX-License-Identifier: Apache-2.0 */
/* What the server keeps of a request while it lasts: an upload, or a download. */
#ifndef POPULATOR_UPLOAD_EXCHANGE_H
#define POPULATOR_UPLOAD_EXCHANGE_H

/* First member of both. */
struct exchange {
  void (*close)(struct exchange *exchange);
};

#endif
