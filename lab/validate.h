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
struct Validation {
    std::vector<RowResult> rows;
    std::map<std::string, FamilyResult> families;
    FamilyResult total;
    std::optional<double> instruction_score;         ///< mean over instruction rows of max(0, 1 - |error|)
    std::map<std::string, std::string> assumptions;  ///< chip -> hash, model version and so on
    double wall_s = 0;
};

struct ValidateOptions {
    std::vector<std::string> sets;  ///< --set overrides applied to every chip
    std::string chip_dir;
    std::vector<std::string> families;  ///< only these; empty: all
    std::function<void(std::size_t done, std::size_t all, const std::string& what)> progress;
};
Validation validate(const std::vector<MeasuredRow>&, const ValidateOptions& = {});

/// docs/validation.md: families, rows worst first, skipped rows with reasons, which rows served calibration.
std::string validation_page(const Validation&);

}  // namespace sfumato::lab
