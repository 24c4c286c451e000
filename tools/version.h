/*
 * The version, and the day of its release: `kerncast --version`, the manual and
 * exported traces take them from here. CHANGELOG.md has an entry of that version
 * and day, which a test compares.
 */
#ifndef KC_VERSION_H
#define KC_VERSION_H

#define KC_VERSION "0.1.0"
#define KC_RELEASED "November 21, 2026"

#endif
