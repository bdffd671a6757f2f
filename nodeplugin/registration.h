/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the plugin known to kubelet: a second socket, in a folder that kubelet watches, on which it
 * asks for the plugin's name and its CSI socket. That is all that node-driver-registrar does. */
#ifndef NODEPLUGIN_REGISTRATION_H
#define NODEPLUGIN_REGISTRATION_H

#include <stdatomic.h>

#include "csi/rpc/server.h"

struct registration {
  const char *driver_name;
  const char *csi_socket;  /* path of it, as kubelet sees it */
  atomic_bool was_refused; /* kubelet has said so, and why is in the log: it asks again only when
                              the socket is made anew, so the process should end and be restarted */
  struct rpc_service service;
  struct rpc_server *server;
};

/* Serves DIR/<driver name>-reg.sock. *registration must stay where it is until it is stopped. */
int registration_start(struct registration *registration, const char *dir, const char *driver_name,
                       const char *csi_socket, struct error **err);
void registration_stop(struct registration *registration);

#endif
