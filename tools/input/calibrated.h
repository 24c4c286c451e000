/* A device as a database knows it: recorded there, or only calibrated. */
#ifndef KC_CALIBRATED_H
#define KC_CALIBRATED_H

#include "predictor/device/device.h"

/* The option that names the database, for the commands that take a device. */
#define KC_CALIBRATED_HELP "use the device's figures as recorded and calibrated (`kerncast calibrate`) in this database"

#define KC_SIMULATED_CALIBRATION                                                                                       \
	"SIMULATED: the device is a stand-in; what was measured of it does not come from a GPU.\n"

/*
 * what: as for kc_device_spec(), or the name of a device recorded in the
 * database; database NULL: none. Returns KC_EXIT_OK; KC_EXIT_USAGE or
 * KC_EXIT_FAILED after a message.
 */
int kc_calibrated_device(const char *what, const char *database, struct kc_device *device);

#endif
