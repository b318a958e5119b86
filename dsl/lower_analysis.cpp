// SPDX-License-Identifier: Apache-2.0
#include "dsl/lower_analysis.h"

#include <algorithm>
#include <functional>

namespace sfumato::dsl {

using tile::Op;

Analysis::Analysis(const tile::Kernel& k) : kernel(k) {
    const std::size_t n = k.values.size();
    definitions_.resize(n, nullptr);
    homes_.resize(n, nullptr);
    uses_.resize(n, 0);
    deeper_.resize(n, false);
    marked_.resize(n, false);
    users_.resize(n);
    accumulator_of_.resize(n, -1);
    root_.resize(n);
    for (std::size_t i = 0; i < n; ++i) root_[i] = static_cast<int>(i);
    parents_[&k.body] = nullptr;
    index(k.body);
    count(k.body);
    find_accumulators();
    check_linear();
}

void Analysis::index(const Region& r) {
    for (const tile::Carried& c : r.carried) {
        if (c.inside >= 0) homes_[static_cast<std::size_t>(c.inside)] = &r;
        homes_[static_cast<std::size_t>(c.result)] = parents_.at(&r);
    }
    for (const tile::Node& n : r.nodes) {
        if (const auto* op = std::get_if<Op>(&n.node)) {
            order_[op] = static_cast<int>(order_.size());
            where_[op] = &r;
            if (op->result < 0) continue;
            definitions_[static_cast<std::size_t>(op->result)] = op;
            homes_[static_cast<std::size_t>(op->result)] = &r;
        } else if (const auto* inner = std::get_if<Region>(&n.node)) {
            parents_[inner] = &r;
            index(*inner);
        }
    }
}

bool Analysis::is_inside(const Region* inner, const Region* outer) const {
    for (const Region* r = inner; r; r = parents_.at(r))
        if (r == outer) return true;
    return false;
}

void Analysis::use(ValueId v, const Region* where, const Op* by) {
    const auto i = static_cast<std::size_t>(v);
    ++uses_[i];
    if (by) users_[i].push_back(by);
    if (homes_[i] != where) deeper_[i] = true;
    if (uses_[i] > 1 || !definitions_[i]) return;
    for (ValueId a : definitions_[i]->args) use(a, homes_[i], definitions_[i]);
}

// Stores and carried values are what a kernel is for; everything they reach is live.
void Analysis::count(const Region& r) {
    for (const tile::Carried& c : r.carried) {
        use(c.init, parents_.at(&r), nullptr);
        use(c.yield, &r, nullptr);
    }
    for (const tile::Node& n : r.nodes) {
        if (const auto* op = std::get_if<Op>(&n.node); op && op->kind == OpKind::store) use(op->args[0], &r, op);
        if (const auto* inner = std::get_if<Region>(&n.node)) count(*inner);
    }
}

int Analysis::find(int v) const {
    while (root_[static_cast<std::size_t>(v)] != v) v = root_[static_cast<std::size_t>(v)];
    return v;
}
// `full` may start several accumulators, so it belongs to none.
void Analysis::unify(ValueId a, ValueId b) {
    const Op* d = definition(a);
    if (d && d->kind == OpKind::full) return;
    const int x = find(a), y = find(b);
    const bool mark = marked_[static_cast<std::size_t>(x)] || marked_[static_cast<std::size_t>(y)];
    root_[static_cast<std::size_t>(std::max(x, y))] = std::min(x, y);
    marked_[static_cast<std::size_t>(std::min(x, y))] = mark;
}

void Analysis::unify_carried(const Region& r, bool& changed) {
    for (const tile::Carried& c : r.carried) {
        std::vector<ValueId> group{c.result, c.yield, c.init};
        if (c.inside >= 0) group.push_back(c.inside);
        const auto marked = [&](ValueId v) { return marked_[static_cast<std::size_t>(find(v))]; };
        if (std::none_of(group.begin(), group.end(), marked)) continue;
        for (ValueId v : group) {
            const Op* d = definition(v);
            if (find(v) == find(c.result) || (d && d->kind == OpKind::full)) continue;
            unify(v, c.result);
            changed = true;
        }
    }
    for (const tile::Node& n : r.nodes)
        if (const auto* inner = std::get_if<Region>(&n.node)) unify_carried(*inner, changed);
}

void Analysis::find_accumulators() {
    for (const auto& [op, order] : order_) {
        if (op->kind != OpKind::dot || uses(op->result) == 0) continue;
        const auto& by = users(op->result);
        const bool added = by.size() == 1 && uses(op->result) == 1 && by[0]->kind == OpKind::add && by[0]->args[0] != by[0]->args[1];
        const ValueId other = added ? by[0]->args[by[0]->args[0] == op->result ? 1 : 0] : -1;
        const Op* start = other >= 0 ? definition(other) : nullptr;
        // a sum of a product and of something that is not an accumulator is an epilogue, not an accumulation
        const bool accumulates = added && (!start || start->kind == OpKind::full || start->kind == OpKind::add || start->kind == OpKind::dot);
        const ValueId sum = accumulates ? by[0]->result : op->result;
        marked_[static_cast<std::size_t>(find(sum))] = true;
        if (accumulates) unify(other, sum);
    }
    for (bool changed = true; changed;) {
        changed = false;
        unify_carried(kernel.body, changed);
    }
    collect_sites(kernel.body);
}

void Analysis::collect_sites(const Region& r) {
    std::map<int, int> number;  // root -> accumulator
    const std::function<void(const Region&)> walk = [&](const Region& region) {
        for (const tile::Node& n : region.nodes) {
            if (const auto* inner = std::get_if<Region>(&n.node)) walk(*inner);
            const auto* op = std::get_if<Op>(&n.node);
            if (!op || op->kind != OpKind::dot || uses(op->result) == 0) continue;
            const auto& by = users(op->result);
            const bool own = marked_[static_cast<std::size_t>(find(op->result))];
            const Op* add = own || by.empty() ? op : by[0];
            const int root = find(add->result);
            if (!number.count(root)) {
                number[root] = static_cast<int>(accumulators.size());
                accumulators.push_back({});
                accumulators.back().home = &region;
                accumulators.back().shape = value(add->result).shape;
                accumulators.back().dtype = value(add->result).dtype;
                accumulators.back().source = value(add->result).source;
            }
            Accumulator& acc = accumulators[static_cast<std::size_t>(number[root])];
            site_of_[add] = site_of_[op] = {number[root], static_cast<int>(acc.sites.size())};
            acc.sites.push_back({add, op, &region});
        }
    };
    walk(r);
    for (std::size_t v = 0; v < root_.size(); ++v)
        if (const auto it = number.find(find(static_cast<int>(v))); it != number.end()) accumulator_of_[v] = it->second;
    // home: the region in which the outermost loop that carries the accumulator stands
    const std::function<void(const Region&)> lift = [&](const Region& region) {
        for (const tile::Carried& c : region.carried)
            if (const int a = accumulator(c.result); a >= 0) {
                Accumulator& acc = accumulators[static_cast<std::size_t>(a)];
                const Region* outer = parents_.at(&region);
                if (is_inside(acc.home, &region)) acc.home = outer;
            }
        for (const tile::Node& n : region.nodes)
            if (const auto* inner = std::get_if<Region>(&n.node)) lift(*inner);
    };
    lift(r);
}

const DotSite* Analysis::site(const Op* op) const {
    const auto it = site_of_.find(op);
    if (it == site_of_.end()) return nullptr;
    return &accumulators[static_cast<std::size_t>(it->second.first)].sites[static_cast<std::size_t>(it->second.second)];
}

bool Analysis::reads_accumulator(ValueId v) const {
    if (accumulator(v) >= 0) return true;
    const Op* d = definition(v);
    return d && std::any_of(d->args.begin(), d->args.end(), [&](ValueId a) { return reads_accumulator(a); });
}

const Op* Analysis::load_behind(ValueId v, bool& transposed) const {
    transposed = false;
    const Op* d = definition(v);
    while (d && d->kind == OpKind::transpose) {
        transposed = !transposed;
        d = definition(d->args[0]);
    }
    return d && d->kind == OpKind::load ? d : nullptr;
}

void Analysis::refuse(isa::SourceId source, std::string message) {
    if (!fault) fault = tile::diagnose(kernel.frame, source, isa::Code::unsupported, std::move(message));
}

// An accumulator is updated in place, so a value of it must not be read after the addition that replaces it; and it starts from zero.
void Analysis::check_linear() {
    for (const Accumulator& acc : accumulators) {
        for (const DotSite& s : acc.sites) {
            if (s.add == s.dot) continue;
            for (ValueId a : s.add->args) {
                if (a == s.dot->result) continue;
                const Op* d = definition(a);
                if (d && d->kind == OpKind::full && d->scalar != 0)
                    refuse(s.add->source,
                           "an accumulator starts from " + std::to_string(d->scalar) + "; start it from zeros and add the value after the loop");
                for (const Op* u : users(a))
                    if (u != s.add && accumulator(a) >= 0 && order_.at(u) > order_.at(s.add))
                        refuse(u->source, "an accumulator is read after it was added to; read it before, or keep two accumulators");
            }
        }
    }
    const std::function<void(const Region&)> walk = [&](const Region& r) {
        for (const tile::Carried& c : r.carried) {
            if (accumulator(c.result) < 0) continue;
            const Op* d = definition(c.init);
            if (accumulator(c.init) < 0 && !(d && d->kind == OpKind::full && d->scalar == 0))
                refuse(value(c.init).source,
                       "an accumulator of dot starts from a value that is not zeros; start it from zeros and add the value after the loop");
            if (accumulator(c.yield) != accumulator(c.result))
                refuse(r.source, "an accumulator of dot is replaced inside the loop by a value that is not a sum of products");
        }
        for (const tile::Node& n : r.nodes)
            if (const auto* inner = std::get_if<Region>(&n.node)) walk(*inner);
    };
    walk(kernel.body);
}

}  // namespace sfumato::dsl
