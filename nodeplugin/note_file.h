/* SPDX-License-Identifier: Apache-2.0 */
/* A small file of the run folder that is there whole or not at all. */
#ifndef NODEPLUGIN_NOTE_FILE_H
#define NODEPLUGIN_NOTE_FILE_H

/* In place of what was there. -1 with errno. */
int note_file_write(const char *path, const char *text);
/* Removes what a call that died has left of writing it; the file itself stays. */
void note_file_drop_half(const char *path);

#endif
