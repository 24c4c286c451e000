/*
 * A report as one page of HTML that needs nothing else: neither network nor other files.
 *
 *   page.css, *.js   what the page brings along; the build puts them into the command (page_files.S)
 *   html_document    the data of the page, a JSON document
 *   html_page        the page around it
 *
 * Text that others chose (names, paths, command lines) is in the JSON document alone, and the script makes text nodes
 * of it. A content security policy allows that one script and that one style sheet by their hashes, and no request.
 */
#ifndef KC_REPORT_HTML_H
#define KC_REPORT_HTML_H

#include "store/query/report/activity.h"
#include "store/query/query.h"

struct kc_html_request {
	const char *file; /* "-": standard output */
	const char *database;
	const char *old; /* earlier runs, "1,2,3", or "none"; NULL: up to five of the same command line */
	int anonymous;   /* hashes kernels' names, and leaves out paths, command lines and texts of messages */
};

/* Writes the page. data and activity: of these runs; their names are shortened, or hashed, on the way. filter: NULL:
 * every launch. Returns an exit status, KC_EXIT_OK or that after a message. */
int kc_report_html(const struct kc_html_request *request, struct kc_store *store, struct kc_report *data,
		   struct kc_activity *activity, struct kc_filter *filter);

#endif
