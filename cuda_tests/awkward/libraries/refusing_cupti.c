/* A copy of CUPTI for another driver, the newest there is: it has all functions that kerncast needs, and does not
 * begin. */
#include <stdint.h>

enum { ERROR_UNKNOWN = 999, VERSION = 139900 }; /* cupti_result.h: CUPTI_ERROR_UNKNOWN */

#define REFUSING(function)                                                                                             \
	__attribute__((visibility("default"))) int function(void);                                                     \
	int function(void)                                                                                             \
	{                                                                                                              \
		return ERROR_UNKNOWN;                                                                                  \
	}
REFUSING(cuptiSubscribe)
REFUSING(cuptiUnsubscribe)
REFUSING(cuptiEnableCallback)
REFUSING(cuptiActivityRegisterCallbacks)
REFUSING(cuptiActivityEnable)
REFUSING(cuptiActivityDisable)
REFUSING(cuptiActivityFlushAll)
REFUSING(cuptiActivityGetNextRecord)
REFUSING(cuptiActivityGetNumDroppedRecords)
REFUSING(cuptiGetTimestamp)

__attribute__((visibility("default"))) int cuptiGetVersion(uint32_t *version);
int cuptiGetVersion(uint32_t *version)
{
	*version = VERSION;
	return 0;
}

__attribute__((visibility("default"))) int cuptiGetResultString(int result, const char **text);
int cuptiGetResultString(int result, const char **text)
{
	*text = result == ERROR_UNKNOWN ? "CUPTI_ERROR_UNKNOWN" : "";
	return 0;
}
