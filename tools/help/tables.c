#include "tools/command.h"
#include "tools/output/json.h"

#include "store/database/schema.h"
#include "store/database/trust.h"

static void add(const struct kc_schema_object *object, void *list)
{
	json_t *one = json_object();

	json_object_set_new(one, "type", kc_json_text(object->type));
	json_object_set_new(one, "name", kc_json_text(object->name));
	json_object_set_new(one, "table", kc_json_text(object->table));
	json_object_set_new(one, "sql", kc_json_text(object->sql));
	json_object_set_new(one, "optional", json_boolean(object->optional));
	json_array_append_new(list, one);
}

int kc_schema_print(void)
{
	json_t *out = kc_json_document("schema", 1), *objects = json_array();

	json_object_set_new(out, "application_id", json_integer(KC_APPLICATION_ID));
	json_object_set_new(out, "version", json_integer(KC_SCHEMA_VERSION));
	json_object_set_new(out, "objects", objects);
	if (kc_schema_each(add, objects) == 0)
		return kc_json_print(out);
	json_decref(out);
	kc_error("out of memory");
	return KC_EXIT_FAILED;
}
