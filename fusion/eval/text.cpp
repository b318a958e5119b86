// SPDX-License-Identifier: Apache-2.0
// Strings and n-grams.
#include <algorithm>
#include <set>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

template <class T>
std::vector<T> list(const EvalContext& c, const char* key) {
    const auto it = c.node.attributes.find(key);
    if (it == c.node.attributes.end()) return {};
    const auto* v = std::get_if<std::vector<T>>(&it->second);
    require(c, v != nullptr, std::string(key) + " has another type than the operator defines");
    return *v;
}

/// Letters of ASCII; other bytes stay.
std::string cased(std::string s, bool upper) {
    for (char& ch : s) {
        if (upper && ch >= 'a' && ch <= 'z') ch = static_cast<char>(ch - 'a' + 'A');
        if (!upper && ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
    }
    return s;
}

}  // namespace

void eval_string_normalizer(EvalContext& c) {
    const Tensor& x = c.in(0);
    require(c, x.type == ElemType::string && (x.rank() == 1 || (x.rank() == 2 && x.dims[0] == 1)), "takes strings of shape [n] or [1,n], not " + std::string(name(x.type)) + text(x.dims));
    const std::string action = c.node.text("case_change_action", "NONE");
    require(c, action == "NONE" || action == "LOWER" || action == "UPPER", "case_change_action is " + action + ", allowed are NONE, LOWER and UPPER");
    const bool sensitive = c.node.integer("is_case_sensitive", 0) != 0;
    std::set<std::string> stop;
    for (const std::string& word : list<std::string>(c, "stopwords")) stop.insert(sensitive ? word : cased(word, false));
    std::vector<std::string> kept;
    for (const std::string& word : x.strings())
        if (!stop.count(sensitive ? word : cased(word, false))) kept.push_back(action == "NONE" ? word : cased(word, action == "UPPER"));
    if (kept.empty()) kept.emplace_back();
    const auto n = static_cast<std::int64_t>(kept.size());
    c.set(0, Tensor{ElemType::string, x.rank() == 1 ? Dims{n} : Dims{1, n}, std::move(kept)});
}

namespace {

/// The pool of n-grams: pool[counts[n-1] .. counts[n]) holds the grams of length n one after the other.
template <class T>
struct Grams {
    std::vector<T> pool;
    Dims counts, indexes;

    /// Index of the gram in the output, or -1.
    std::int64_t find(const EvalContext& c, const std::vector<T>& gram) const {
        const std::size_t n = gram.size();
        const auto begin = static_cast<std::size_t>(counts[n - 1]), end = n < counts.size() ? static_cast<std::size_t>(counts[n]) : pool.size();
        std::size_t id = 0;
        for (std::size_t k = 1; k < n; ++k) id += static_cast<std::size_t>(counts[k] - counts[k - 1]) / k;
        for (std::size_t at = begin; at + n <= end; at += n, ++id)
            if (std::equal(gram.begin(), gram.end(), pool.begin() + static_cast<std::ptrdiff_t>(at))) {
                require(c, id < indexes.size(), "ngram_indexes has fewer values than the pool has n-grams");
                return indexes[id];
            }
        return -1;
    }
};

template <class T>
Tensor frequencies(const EvalContext& c, std::vector<T> pool) {
    const Tensor& x = c.in(0);
    const Grams<T> grams{std::move(pool), list<std::int64_t>(c, "ngram_counts"), list<std::int64_t>(c, "ngram_indexes")};
    const std::int64_t shortest = c.node.integer("min_gram_length", 1), longest = c.node.integer("max_gram_length", 1), skips = c.node.integer("max_skip_count", 0);
    require(c, shortest >= 1 && longest >= shortest && static_cast<std::size_t>(longest) <= grams.counts.size() && std::is_sorted(grams.counts.begin(), grams.counts.end()) &&
                   grams.counts[0] >= 0 && grams.counts.back() <= static_cast<std::int64_t>(grams.pool.size()) && !grams.indexes.empty() &&
                   *std::min_element(grams.indexes.begin(), grams.indexes.end()) >= 0,
            "its gram lengths " + std::to_string(shortest) + " to " + std::to_string(longest) + ", ngram_counts " + text(grams.counts) + " and pool do not fit together");
    require(c, x.rank() == 1 || x.rank() == 2, "takes [n] or [batch, n], not " + text(x.dims));
    const std::int64_t columns = *std::max_element(grams.indexes.begin(), grams.indexes.end()) + 1, n = x.dims.back(), rows = x.rank() == 2 ? x.dims[0] : 1;
    Tensor out = blank(c, ElemType::f64, x.rank() == 2 ? Dims{rows, columns} : Dims{columns});
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t length = shortest; length <= longest; ++length)
            for (std::int64_t skip = 0; skip <= (length == 1 ? 0 : skips); ++skip)
                for (std::int64_t start = 0; start + (length - 1) * (skip + 1) < n; ++start) {
                    std::vector<T> gram;
                    for (std::int64_t j = 0; j < length; ++j) gram.push_back(data<T>(x)[r * n + start + j * (skip + 1)]);
                    if (const std::int64_t at = grams.find(c, gram); at >= 0) data<double>(out)[r * columns + at] += 1;
                }
    const std::string mode = c.node.text("mode", "");
    require(c, mode == "TF" || mode == "IDF" || mode == "TFIDF", "mode is \"" + mode + "\", allowed are TF, IDF and TFIDF");
    const std::vector<double> given = list<double>(c, "weights");
    std::vector<double> weight(static_cast<std::size_t>(columns), 1);
    for (std::size_t i = 0; i < given.size() && i < grams.indexes.size(); ++i) weight[static_cast<std::size_t>(grams.indexes[i])] = given[i];
    for (std::int64_t i = 0; mode != "TF" && i < out.size(); ++i) {
        double& v = data<double>(out)[i];
        v = (mode == "IDF" ? (v > 0 ? 1 : 0) : v) * weight[static_cast<std::size_t>(i % columns)];
    }
    return converted(c, out, ElemType::f32);
}

}  // namespace

void eval_tf_idf(EvalContext& c) {
    if (c.in(0).type == ElemType::string) return c.set(0, frequencies(c, list<std::string>(c, "pool_strings")));
    ints_of(c, 0);
    c.set(0, frequencies(c, list<std::int64_t>(c, "pool_int64s")));
}

}  // namespace sfumato::fusion
