#include "image.cuh"

#include "histogram.cuh"
#include "program.h"

#define SIZE 1024
#define BLOCK 256
#define LIMIT 4 /* of binarize: so few pixels are dark that an erosion leaves some of the others */

/* The side is rounded up to whole tiles. */
struct image {
	const int n, block, pixels;
	const std::vector<int> host;
	device_array<int> in;

	explicit image(const struct setting *setting)
	    : n((int)parts(setting->size, IMAGE_DCT) * IMAGE_DCT), block(setting->block), pixels(n * n),
	      host(random_ints(pixels, IMAGE_LEVELS)), in(host)
	{
	}
	dim3 blocks(int threads) const
	{
		return dim3(parts(threads, block));
	}
	dim3 few_blocks() const
	{
		unsigned all = parts(pixels, block);

		return dim3(all < HISTOGRAM_BLOCKS ? all : HISTOGRAM_BLOCKS);
	}
};

/* A primitive that computes an array of integers. */
struct primitive : subject, image {
	device_array<int> out;

	primitive(const struct setting *setting, int (*results)(int n)) : image(setting), out(results(n))
	{
	}
	virtual void reference(int *wanted) = 0;
	const char *wrong()
	{
		std::vector<int> wanted(out.count);

		reference(wanted.data());
		return compare(out.read(), wanted);
	}
};

static int each_row(int n)
{
	return n;
}

static int each_pixel(int n)
{
	return n * n;
}

static int each_tile(int n)
{
	return n * n / (IMAGE_TILE * IMAGE_TILE);
}

static int each_enlarged(int n)
{
	return n * n * IMAGE_TILE * IMAGE_TILE;
}

/* One whose kernel and reference take a side, an image and a result; threads and results for a side of n. */
struct plain {
	void (*kernel)(int n, const int *in, int *out);
	void (*reference)(long n, const int *in, int *out);
	int (*threads)(int n), (*results)(int n);
};

struct plain_primitive : primitive {
	const struct plain plain;

	plain_primitive(const struct setting *setting, const struct plain &plain)
	    : primitive(setting, plain.results), plain(plain)
	{
	}
	void run(cudaStream_t stream)
	{
		launch(plain.kernel, blocks(plain.threads(n)), dim3(block), 0, stream, n, in.at, out.at);
	}
	void reference(int *wanted)
	{
		plain.reference(n, host.data(), wanted);
	}
};

template <const struct plain *plain> struct subject *make_plain(const struct setting *setting)
{
	return new plain_primitive(setting, *plain);
}

#define PLAIN_ALGORITHM(name, threads, results)                                                                        \
	static constexpr struct plain plain_##name = {name##_kernel, reference_##name, threads, results};              \
	const struct algorithm name = {#name, {SIZE, BLOCK}, make_plain<&plain_##name>}

PLAIN_ALGORITHM(mirror, each_pixel, each_pixel);
PLAIN_ALGORITHM(project_x, each_row, each_row);
PLAIN_ALGORITHM(project_y, each_row, each_row);
PLAIN_ALGORITHM(scale_down, each_tile, each_tile);
PLAIN_ALGORITHM(enlarge, each_pixel, each_enlarged);
PLAIN_ALGORITHM(convolve_2d, each_pixel, each_pixel);
PLAIN_ALGORITHM(convolve_1d, each_pixel, each_pixel);

struct binarizing : primitive {
	explicit binarizing(const struct setting *setting) : primitive(setting, each_pixel)
	{
	}
	void run(cudaStream_t stream)
	{
		launch(binarize_kernel, blocks(pixels), dim3(block), 0, stream, n, in.at, LIMIT, out.at);
	}
	void reference(int *wanted)
	{
		reference_binarize(n, host.data(), LIMIT, wanted);
	}
};

const struct algorithm binarize = {"binarize", {SIZE, BLOCK}, make_subject<binarizing>};

struct differencing : primitive {
	const std::vector<int> host_other;
	device_array<int> other;

	explicit differencing(const struct setting *setting)
	    : primitive(setting, each_pixel), host_other(host.rbegin(), host.rend()), other(host_other)
	{
	}
	void run(cudaStream_t stream)
	{
		launch(difference_kernel, blocks(pixels), dim3(block), 0, stream, n, in.at, other.at, out.at);
	}
	void reference(int *wanted)
	{
		reference_difference(n, host.data(), host_other.data(), wanted);
	}
};

const struct algorithm difference = {"difference", {SIZE, BLOCK}, make_subject<differencing>};

static int each_level(int)
{
	return IMAGE_LEVELS;
}

struct image_counting : primitive {
	explicit image_counting(const struct setting *setting) : primitive(setting, each_level)
	{
	}
	void run(cudaStream_t stream)
	{
		out.clear(stream);
		launch(histogram_kernel, few_blocks(), dim3(block), 0, stream, pixels, in.at, out.at);
	}
	void reference(int *wanted)
	{
		reference_histogram(pixels, host.data(), IMAGE_LEVELS, wanted);
	}
};

const struct algorithm image_histogram = {"image_histogram", {SIZE, BLOCK}, make_subject<image_counting>};

struct summing : subject, image {
	device_array<unsigned long long> sum;

	explicit summing(const struct setting *setting) : image(setting), sum(1)
	{
	}
	void run(cudaStream_t stream)
	{
		sum.clear(stream);
		launch(sum_kernel, few_blocks(), dim3(block), 0, stream, pixels, in.at, sum.at);
	}
	const char *wrong()
	{
		return compare(sum.read(), {(unsigned long long)reference_sum(pixels, host.data())});
	}
};

const struct algorithm image_sum = {"image_sum", {SIZE, BLOCK}, make_subject<summing>};

#define DCT_TOLERANCE 1e-3 /* of 32-bit floats, sums of 64 products */

struct transforming : subject, image {
	const std::vector<float> host_floats;
	device_array<float> floats, basis, rows, out;

	explicit transforming(const struct setting *setting)
	    : image(setting), host_floats(host.begin(), host.end()), floats(host_floats), basis(cosines()),
	      rows(pixels), out(pixels)
	{
	}
	static std::vector<float> cosines()
	{
		std::vector<float> of(IMAGE_DCT * IMAGE_DCT);

		for (int u = 0; u < IMAGE_DCT; u++)
			for (int x = 0; x < IMAGE_DCT; x++)
				of[u * IMAGE_DCT + x] = (float)(sqrt((u ? 2.0 : 1.0) / IMAGE_DCT) *
								cos(M_PI * (2 * x + 1) * u / (2.0 * IMAGE_DCT)));
		return of;
	}
	void run(cudaStream_t stream)
	{
		launch(dct_rows_kernel, blocks(pixels), dim3(block), 0, stream, n, floats.at, basis.at, rows.at);
		launch(dct_columns_kernel, blocks(pixels), dim3(block), 0, stream, n, rows.at, basis.at, out.at);
	}
	const char *wrong()
	{
		std::vector<float> wanted(pixels);

		reference_dct(n, host_floats.data(), wanted.data());
		return compare(out.read(), wanted, DCT_TOLERANCE);
	}
};

const struct algorithm dct = {"dct", {SIZE, BLOCK}, make_subject<transforming>};

/* Pinned: a copy does not wait for the host. */
struct pinned_ints {
	int *at;

	explicit pinned_ints(size_t count)
	{
		CHECK(cudaMallocHost(&at, count * sizeof(int)));
	}
	pinned_ints(const pinned_ints &) = delete;
	~pinned_ints()
	{
		cudaFreeHost(at);
	}
};

#define MAXIMUM_SHARE 4 /* the paper's maximum is over 262,144 elements of an image of 1,024 x 1,024 */

/* The application of the boat hull paper: the image comes in, six primitives, two projections go out. */
struct application : subject, image {
	device_array<int> counts, maximum, binary, eroded, rows, columns;
	pinned_ints picture, host_rows, host_columns;

	explicit application(const struct setting *setting)
	    : image(setting), counts(IMAGE_LEVELS), maximum(1), binary(pixels), eroded(pixels), rows(n), columns(n),
	      picture(pixels), host_rows(n), host_columns(n)
	{
		std::copy(host.begin(), host.end(), picture.at);
	}
	void run(cudaStream_t stream)
	{
		size_t row_bytes = n * sizeof(int);

		CHECK(cudaMemcpyAsync(in.at, picture.at, n * row_bytes, cudaMemcpyHostToDevice, stream));
		counts.clear(stream);
		maximum.clear(stream);
		launch(histogram_kernel, few_blocks(), dim3(block), 0, stream, pixels, in.at, counts.at);
		launch(maximum_kernel, few_blocks(), dim3(block), 0, stream, pixels / MAXIMUM_SHARE, in.at, maximum.at);
		launch(binarize_kernel, blocks(pixels), dim3(block), 0, stream, n, in.at, LIMIT, binary.at);
		launch(erode_kernel, blocks(pixels), dim3(block), 0, stream, n, binary.at, eroded.at);
		launch(project_x_kernel, blocks(n), dim3(block), 0, stream, n, eroded.at, rows.at);
		launch(project_y_kernel, blocks(n), dim3(block), 0, stream, n, eroded.at, columns.at);
		CHECK(cudaMemcpyAsync(host_rows.at, rows.at, row_bytes, cudaMemcpyDeviceToHost, stream));
		CHECK(cudaMemcpyAsync(host_columns.at, columns.at, row_bytes, cudaMemcpyDeviceToHost, stream));
	}
	const char *wrong()
	{
		std::vector<int> wanted(2 * n + IMAGE_LEVELS + 1), got(host_rows.at, host_rows.at + n);
		std::vector<int> binary(pixels), eroded(pixels), got_counts = counts.read();

		got.insert(got.end(), host_columns.at, host_columns.at + n);
		got.insert(got.end(), got_counts.begin(), got_counts.end());
		got.push_back(maximum.read()[0]);
		reference_binarize(n, host.data(), LIMIT, binary.data());
		reference_erode(n, binary.data(), eroded.data());
		reference_project_x(n, eroded.data(), wanted.data());
		reference_project_y(n, eroded.data(), wanted.data() + n);
		reference_histogram(pixels, host.data(), IMAGE_LEVELS, wanted.data() + 2 * n);
		wanted.back() = reference_maximum(pixels / MAXIMUM_SHARE, host.data());
		return compare(got, wanted);
	}
};

const struct algorithm case_study = {"case_study", {SIZE, BLOCK}, make_subject<application>};
