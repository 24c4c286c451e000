#include "html_internal.h"
#include "sha256.h"
#include "tools/command.h"
#include "tools/output/output_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 9 /* of numbers for people */

/* page_files.S */
extern const char kc__html_style[], kc__html_script[];
extern const uint64_t kc__html_style_bytes, kc__html_script_bytes;

/* In a JSON document these are only in strings, where \u003c means the same as "<". So nothing in the document ends the
 * element or begins a comment in it. What is not ASCII, U+2028 among it, jansson has escaped. */
static int put_escaped(const char *text, size_t size, void *to)
{
	for (size_t i = 0; i < size; i++) {
		if (strchr("<>&", text[i]) && text[i])
			fprintf(to, "\\u%04x", (unsigned char)text[i]);
		else
			fputc(text[i], to);
	}
	return ferror((FILE *)to) ? -1 : 0;
}

void kc__html_put_json(const json_t *document, FILE *to)
{
	json_dump_callback(document, put_escaped, to, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS));
}

/* Nothing is allowed but the page's own script and style, by the hashes of what is between their tags. */
static void put_policy(FILE *to)
{
	char script[KC_SHA256_BASE64], style[KC_SHA256_BASE64];

	kc_sha256_base64(kc__html_script, kc__html_script_bytes, script);
	kc_sha256_base64(kc__html_style, kc__html_style_bytes, style);
	fprintf(to,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-%s'; "
		"style-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n",
		script, style);
}

void kc__html_put(const json_t *document, FILE *to)
{
	json_t *fields = kc__html_fields();

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", to);
	put_policy(to);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>kerncast report</title>\n<style>",
	      to);
	fwrite(kc__html_style, 1, kc__html_style_bytes, to);
	fputs("</style>\n</head>\n<body>\n<noscript><p>This page is drawn by its own script, which asks the network "
	      "for nothing. Please allow it to run.</p></noscript>\n<main id=\"page\"></main>\n"
	      "<script type=\"application/json\" id=\"data\">",
	      to);
	kc__html_put_json(document, to);
	fputs("</script>\n<script type=\"application/json\" id=\"fields\">", to);
	kc__html_put_json(fields, to);
	json_decref(fields);
	fputs("</script>\n<script>", to);
	fwrite(kc__html_script, 1, kc__html_script_bytes, to);
	fputs("</script>\n</body>\n</html>\n", to);
}

static int say_not_written(const char *file, int rc)
{
	if (rc == -EEXIST)
		kc_error("%s is a database or belongs to one and is not overwritten; choose another file with --html",
			 file);
	else
		kc_error("cannot write %s: %s", file, strerror(-rc));
	return KC_EXIT_FAILED;
}

static int write_page(struct kc__html *page, struct kc_output_file *file)
{
	json_t *document = NULL;
	int status = kc__html_document(page, &document), rc;

	if (status == KC_EXIT_OK)
		kc__html_put(document, file->to);
	json_decref(document);
	if (status != KC_EXIT_OK) {
		kc_output_file_drop(file);
		return status;
	}
	rc = kc_output_file_finish(file);
	return rc < 0 ? say_not_written(page->request->file, rc) : kc_output_finish();
}

int kc_report_html(const struct kc_html_request *request, struct kc_store *store, struct kc_report *data,
		   struct kc_activity *activity, struct kc_filter *filter)
{
	struct kc__html page = {
	    .request = request,
	    .store = store,
	    .selection = &data->selection,
	    .data = data,
	    .activity = activity,
	    .filter = filter,
	};
	struct kc_output_file file;
	int rc = kc_output_file_open(&file, request->file, KC_OUTPUT_PRIVATE), status;

	if (rc < 0)
		return say_not_written(request->file, rc);
	status = write_page(&page, &file);
	kc__html_samples_free(&page);
	free(page.kernels);
	return status;
}
