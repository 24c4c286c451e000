/*
 * The user's file of options, $XDG_CONFIG_HOME/kerncast.conf or else ~/.config/kerncast.conf: lines "key = value",
 * where the keys are the flags of `kerncast run` without their dashes, and lines begun with "#". KERNCAST_CONFIG names
 * another file, or none. The command reads it and sets the variables that the library reads; the library does not read
 * it. What a flag or a variable says goes before what it says.
 */
#ifndef KC_CONFIG_H
#define KC_CONFIG_H

#include <stddef.h>

/* Where it is looked for. 0; -ENOENT: nowhere; -ENAMETOOLONG. */
int kc_config_path(char *out, size_t size);

/*
 * Sets the variables that are not set, or empty, to what the file at path says. 0, also where there is no such file;
 * -EINVAL: a line is not understood, which why names, and no variable has been set; -EPERM: another user could have
 * written it, or it is not an ordinary file, or longer than any of options, and is not read, for the reason in why;
 * another -errno: it cannot be read, why says so.
 */
int kc_config_apply(const char *path, char *why, size_t why_size);

/* Both, for the command. What it starts finds the variables set, and is told to read no file. 0, after a message where
 * the file is not read; -EINVAL after a message: its options are not to be guessed. */
int kc_config_use(void);

#endif
