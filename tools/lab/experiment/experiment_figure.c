#include "experiment.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERIES_MOST 16u
#define NO_GNUPLOT 127 /* exit status of the child that found none */

struct drawing {
	FILE *to;
	const struct kc_shown *shown;
	const char *series[SERIES_MOST]; /* in the order of their first points */
	unsigned count;
};

static void find_series(struct drawing *drawing)
{
	const struct kc_finding *finding = drawing->shown->finding;

	for (uint32_t i = 0; i < finding->point_count; i++) {
		const char *name = finding->points[i].series;
		unsigned k = 0;

		while (k < drawing->count && strcmp(drawing->series[k], name) != 0)
			k++;
		if (k == drawing->count && k < SERIES_MOST)
			drawing->series[drawing->count++] = name;
	}
}

/* Quotes with single quotes, since gnuplot executes text between backquotes inside double quotes. */
static void put_text(FILE *to, const char *text)
{
	fputc('\'', to);
	for (; *text; text++) {
		int is_control = iscntrl((unsigned char)*text);

		fprintf(to, "%s%c", *text == '\'' ? "'" : "", is_control ? ' ' : *text);
	}
	fputc('\'', to);
}

static void put_value(FILE *to, double value)
{
	if (isfinite(value))
		fprintf(to, " %.9g", value);
	else
		fputs(" NaN", to);
}

/* A block of data per series: x measured predicted low high known. */
static void put_data(const struct drawing *drawing)
{
	const struct kc_finding *finding = drawing->shown->finding;

	for (unsigned s = 0; s < drawing->count; s++) {
		fprintf(drawing->to, "$s%u << EOD\n", s);
		for (uint32_t i = 0; i < finding->point_count; i++) {
			const struct kc_point *p = &finding->points[i];
			const double values[] = {p->x, p->measured, p->predicted, p->low, p->high};

			if (strcmp(p->series, drawing->series[s]) != 0)
				continue;
			for (unsigned k = 0; k < sizeof(values) / sizeof(*values); k++)
				put_value(drawing->to, values[k]);
			fprintf(drawing->to, " %d\n", p->known);
		}
		fputs("EOD\n", drawing->to);
	}
}

static void put_title(const struct drawing *drawing, const char *what)
{
	const struct kc_shown *shown = drawing->shown;
	char title[512];

	snprintf(title, sizeof(title), "%s%s: %s", shown->evidence->simulated ? "SIMULATED. " : "",
		 shown->experiment->name, what);
	fputs("set title ", drawing->to);
	put_text(drawing->to, title);
	fputs(" . \"\\n\" . ", drawing->to);
	put_text(drawing->to, shown->evidence->device.name);
	fputs(" noenhanced\n", drawing->to);
}

static void put_axes(FILE *to, const char *x, const char *y)
{
	fputs("set xlabel ", to);
	put_text(to, x);
	fputs(" noenhanced\nset ylabel ", to);
	put_text(to, y);
	fputs(" noenhanced\n", to);
}

/* One element of a plot for each series, in its colour. */
static void put_series(const struct drawing *drawing, const char *what, int titled)
{
	for (unsigned s = 0; s < drawing->count; s++) {
		fprintf(drawing->to, ", $s%u %s lc %u ", s, what, s + 1);
		if (titled) {
			fputs("title ", drawing->to);
			put_text(drawing->to, drawing->series[s]);
		} else {
			fputs("notitle", drawing->to);
		}
	}
}

#define LINE_EQUAL " lw 1.5 dt 1 lc rgb '#404040' title 'equal'"
#define LINE_BAND " lw 1 dt 2 lc rgb '#808080' "

/* --- one function per kind */

static int has_known(const struct kc_finding *finding)
{
	for (uint32_t i = 0; i < finding->point_count; i++)
		if (finding->points[i].known)
			return 1;
	return 0;
}

static void draw_times(const struct drawing *d)
{
	put_title(d, "predicted against measured time");
	put_axes(d->to, "measured, ms", "predicted, ms");
	fputs("set logscale xy\nset format xy '%g'\n", d->to);
	fputs("plot x" LINE_EQUAL ", 0.8*x" LINE_BAND "title '0.8 and 1.2', 1.2*x" LINE_BAND "notitle", d->to);
	put_series(d, "using ($6==1?NaN:$2/1e6):($3/1e6) with points pt 7 ps 1.1", 1);
	put_series(d, "using ($6==1?$2/1e6:NaN):($3/1e6) with points pt 6 ps 1.4", 0);
	if (has_known(d->shown->finding))
		fputs(", NaN with points pt 6 ps 1.4 lc rgb '#404040' title 'hollow: fitted here'", d->to);
	fputc('\n', d->to);
}

static void draw_bounds(const struct drawing *d)
{
	put_title(d, "predicted bounds against measured time");
	put_axes(d->to, "measured, ms", "predicted from MAX to SUM, ms");
	fputs("set logscale xy\nset format xy '%g'\n", d->to);
	fputs("plot x" LINE_EQUAL, d->to);
	put_series(d, "using ($2/1e6):($4/1e6):(0):(($5-$4)/1e6) with vectors heads size screen 0.006,90 lw 2", 1);
	fputc('\n', d->to);
}

static void draw_slowdown(const struct drawing *d)
{
	put_title(d, "slowdown, estimated against actual");
	put_axes(d->to, "actual slowdown (times alone)", "estimated slowdown (times alone)");
	fputs("set xrange [0.9:*]\nset yrange [0.9:*]\n", d->to);
	fputs("plot x" LINE_EQUAL, d->to);
	put_series(d, "using 2:3 with points pt 7 ps 0.9", 1);
	fputc('\n', d->to);
}

static void draw_curves(const struct drawing *d)
{
	put_title(d, "T(C), time over threads per block");
	put_axes(d->to, "threads per block", "time, ms");
	fputs("set logscale x 2\nset logscale y\nset format y '%g'\nset xrange [28:1150]\n"
	      "set xtics (32, 64, 128, 256, 512, 1024)\n",
	      d->to);
	fputs("plot NaN with points pt 7 ps 0.9 lc rgb '#404040' title 'timed'"
	      ", NaN with points pt 6 ps 0.9 lc rgb '#404040' title 'measured, not given'"
	      ", NaN with points pt 2 ps 1.2 lc rgb '#404040' title 'predicted'",
	      d->to);
	put_series(d, "using 1:($2/1e6) with lines lw 1.2", 1);
	put_series(d, "using ($6==1?$1:NaN):($2/1e6) with points pt 7 ps 0.9", 0);
	put_series(d, "using ($6==1?NaN:$1):($2/1e6) with points pt 6 ps 0.9", 0);
	put_series(d, "using ($6==1?NaN:$1):($3/1e6) with points pt 2 ps 1.2 lw 2", 0);
	fputc('\n', d->to);
}

/* The boat's hull: operations at the compute rate, or bytes at the memory rate, whichever takes longer. */
static void draw_hull(const struct drawing *d)
{
	const struct kc_boathull_machine *m = &d->shown->finding->machine;

	put_title(d, "boat hull, time over arithmetic intensity");
	put_axes(d->to, "operations per byte", "time per byte, ps");
	fputs("set logscale xy\nset format xy '%g'\nset samples 400\nmax(a,b) = a > b ? a : b\n", d->to);
	fprintf(d->to,
		"hull(x, floor, bytes) = 1000*max(floor*x/%.9g, 1/bytes)\n"
		"plot hull(x, 1, %.9g) lw 2 lc rgb '#404040' title 'c0, m0: peak rates'"
		", hull(x, 2, %.9g) lw 2 dt 2 lc rgb '#404040' title 'c1: no fused multiply-adds'"
		", hull(x, 1, %.9g) lw 2 dt 3 lc rgb '#404040' title 'm1: scattered'",
		m->compute_gflops, m->coalesced_gbps, m->coalesced_gbps, m->uncoalesced_gbps);
	for (unsigned s = 0; s < d->count; s++) {
		fprintf(d->to, ", $s%u using 1:($2*1000) with points ps 1.3 lw 1.5 pt %u lc %u title ", s, s + 1,
			s + 1);
		put_text(d->to, d->series[s]);
	}
	fputc('\n', d->to);
}

static void draw_learning(const struct drawing *d)
{
	fputs("set multiplot layout 2,1\nset logscale x\nset xrange [0.9:*]\n"
	      "set lmargin at screen 0.11\nset rmargin at screen 0.68\n",
	      d->to);
	put_title(d, "what is learned with each measurement");
	put_axes(d->to, "measurements known", "λ / its last value");
	fputs("plot 1" LINE_BAND "notitle", d->to);
	put_series(d, "using 1:3 with linespoints pt 7 ps 0.8", 1);
	fputs("\nunset title\n", d->to);
	put_axes(d->to, "measurements known", "error of the next one, %");
	fputs("set logscale y\nset format y '%g'\nplot 20" LINE_BAND "title '20 %'", d->to);
	put_series(d, "using 1:(100*$2) with linespoints pt 7 ps 0.8", 0);
	fputs("\nunset multiplot\n", d->to);
}

void kc_figure_script(FILE *to, const struct kc_shown *shown)
{
	static void (*const kinds[])(const struct drawing *) = {
	    [KC_FIGURE_TIMES] = draw_times,   [KC_FIGURE_BOUNDS] = draw_bounds, [KC_FIGURE_SLOWDOWN] = draw_slowdown,
	    [KC_FIGURE_CURVES] = draw_curves, [KC_FIGURE_HULL] = draw_hull,     [KC_FIGURE_LEARNING] = draw_learning,
	};
	struct drawing drawing = {.to = to, .shown = shown};

	find_series(&drawing);
	fputs("set encoding utf8\nset grid lc rgb '#d8d8d8'\nset border 3\nset tics nomirror\n"
	      "set key outside right top vertical noenhanced spacing 1.1\n",
	      to);
	put_data(&drawing);
	kinds[shown->experiment->figure](&drawing);
}

/* --- gnuplot */

static int script_file(const struct kc_shown *shown, const char *terminal, const char *path)
{
	int fd = memfd_create("figure", MFD_CLOEXEC);
	FILE *to = fd < 0 ? NULL : fdopen(dup(fd), "w");

	if (!to) {
		close(fd);
		return -ENOMEM;
	}
	fprintf(to, "set terminal %s size 960,600 font 'DejaVu Sans,12' background rgb 'white'\nset output ", terminal);
	put_text(to, path);
	fputc('\n', to);
	kc_figure_script(to, shown);
	fclose(to);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int run_gnuplot(int script, char *why, size_t why_size)
{
	int link[2], status = 0;
	ssize_t n = 0;
	pid_t child;

	if (pipe2(link, O_CLOEXEC) < 0)
		return -errno;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		dup2(script, STDIN_FILENO);
		dup2(link[1], STDERR_FILENO);
		execlp("gnuplot", "gnuplot", "-", (char *)NULL);
		_exit(NO_GNUPLOT);
	}
	close(link[1]);
	for (size_t used = 0; child > 0 && (n = read(link[0], why + used, why_size - 1 - used)) > 0; used += (size_t)n)
		why[used + (size_t)n] = '\0';
	close(link[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	why[strcspn(why, "\n")] = '\0';
	if (child < 0)
		return -EAGAIN;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_GNUPLOT) {
		snprintf(why, why_size, "gnuplot is not installed (Debian: gnuplot-nox)");
		return -ENOENT;
	}
	return status ? -EIO : 0;
}

/* gnuplot does not notice a full disk, so the end of the file is checked. end: how a complete file ends. */
static int is_whole(const char *path, const char *end)
{
	char tail[16] = "";
	FILE *file = fopen(path, "re");
	int whole = 0;

	if (file && fseek(file, -(long)(sizeof(tail) - 1), SEEK_END) == 0)
		whole = fread(tail, 1, sizeof(tail) - 1, file) > 0 && memmem(tail, sizeof(tail), end, strlen(end)) != 0;
	if (file)
		fclose(file);
	return whole;
}

static int draw_one(const struct kc_shown *shown, const char *terminal, const char *end, const char *path, char *why,
		    size_t why_size)
{
	char temporary[PATH_MAX + 128];
	int script, rc;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	script = script_file(shown, terminal, temporary);
	if (script < 0)
		return script;
	rc = run_gnuplot(script, why, why_size);
	close(script);
	if (rc == 0 && !is_whole(temporary, end)) {
		snprintf(why, why_size, "%s cannot be written whole; is the disk full?", path);
		rc = -EIO;
	}
	if (rc == 0 && rename(temporary, path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(temporary);
	return rc;
}

int kc_figure_draw(const struct kc_laboratory *lab, struct kc_shown *shown, char *why, size_t why_size)
{
	static const struct {
		const char *terminal, *ending, *end;
	} formats[] = {{"svg", "svg", "</svg>"}, {"pngcairo", "png", "IEND"}};
	char path[PATH_MAX + 64];
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < sizeof(formats) / sizeof(*formats); i++) {
		kc_experiment_path(lab, shown->experiment->name, formats[i].ending, path, sizeof(path));
		rc = draw_one(shown, formats[i].terminal, formats[i].end, path, why, why_size);
		if (rc == 0)
			snprintf(shown->figures[i], sizeof(shown->figures[i]), "%.*s", PATH_MAX - 1, path);
	}
	return rc;
}
