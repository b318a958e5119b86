// SPDX-License-Identifier: Apache-2.0
#pragma once
// Published measurements against the model: every row whose kernel and shape can be expressed is run, every other row says why not. The
// mapping works on the row's own words (kernel, shape, tiling); no entry of it knows a row's value.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sfumato::lab {

/// One line of a table of measurements.
struct MeasuredRow {
    std::string id, soc, kernel, shape, dtype, tiling, metric;
    double value = 0;
    std::string unit, source, confidence, notes, family;
};
/// Reads a table with the columns above in any order. Throws InputError with file and line.
std::vector<MeasuredRow> parse_rows(const std::string& csv, const std::string& origin);

/// What a row's metric speaks of; acceptance limits differ by kind.
enum class MetricKind { core_time, task_time, pipe_time, pipe_ratio, bandwidth, hit_ratio, instruction, other };
const char* name(MetricKind);

struct RowResult {
    MeasuredRow row;
    bool expressed = false;
    MetricKind kind = MetricKind::other;
    double predicted = 0;
    double error = 0;        ///< (predicted - measured) / measured; of ratios the difference
    std::string note;        ///< what ran, or why the row was skipped
    std::string experiment;  ///< rows with the same text share one run
    std::string chip;
    std::string explanation;   ///< of an error beyond 30 %, "not explained" when there is none
    bool calibration = false;  ///< the row's value was looked at when the mechanisms were fitted: no evidence
};
struct FamilyResult {
    std::int64_t rows = 0, expressed = 0;
    std::map<std::string, std::int64_t> skipped;                         ///< reason -> rows
    double mean_abs_error = 0, median_abs_error = 0, max_abs_error = 0;  ///< over the expressed rows
    std::int64_t core_rows = 0;
    double core_mean_abs_error = 0;  ///< over rows of kind core_time
    std::int64_t beyond_30 = 0;      ///< expressed rows with an error above 30 %
};
/// A number of the chip files that was fitted to rows, and rows whose prediction moves with it (the first few in the order of the table).
struct ConstantUse {
    std::string path, value;
    std::vector<std::string> rows;
};
/// A published point of bandwidth (TB/s) against hit rate, and the model's.
struct CurvePoint {
    double hits, measured, predicted;
};
struct Validation {
    std::vector<RowResult> rows;
    std::map<std::string, FamilyResult> families;
    FamilyResult total;
    FamilyResult known_kernels;                      ///< over the families whose kernels and tilings are printed: see `kKnownKernels`
    std::optional<double> instruction_score;         ///< mean over instruction rows of max(0, 1 - |error|)
    std::vector<ConstantUse> constants;              ///< filled by the caller from fitted_constants()
    std::vector<CurvePoint> hit_curve;               ///< filled by the caller from hit_rate_curve()
    std::string rows_hash;                           ///< of the whole table
    std::map<std::string, std::string> assumptions;  ///< chip -> hash, model version and so on
    double wall_s = 0;
};

/// Families of dav-c220 rows that print kernel and tiling; core times over them together are the measure of the hardware model.
inline constexpr const char* kKnownKernels[] = {"c220", "bandwidth", "ub_bank", "copy_fill", "matmul"};

struct ValidateOptions {
    std::vector<std::string> sets;  ///< --set overrides applied to every chip
    std::string chip_dir;
    std::vector<std::string> families;  ///< only these; empty: all
    std::function<void(std::size_t done, std::size_t all, const std::string& what)> progress;
};
Validation validate(const std::vector<MeasuredRow>&, const ValidateOptions& = {});
/// Hash of a table's rows, hexadecimal.
std::string hash_of(const std::vector<MeasuredRow>&);
/// Every fitted number with rows that feel it. Runs most experiments several times.
std::vector<ConstantUse> fitted_constants(const std::vector<MeasuredRow>&, const ValidateOptions& = {});

/// Bandwidth at the published hit rates.
std::vector<CurvePoint> hit_rate_curve(const ValidateOptions& = {});

/// docs/validation.md: families, rows worst first, skipped rows with reasons, which rows served calibration.
std::string validation_page(const Validation&);

}  // namespace sfumato::lab
