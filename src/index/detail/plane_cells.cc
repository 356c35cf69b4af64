#include "index/detail/plane_cells.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "index/detail/plane_parts.h"

namespace orrery::index::detail {
namespace {

constexpr uint32_t kLevelMax = 24;
/// Room for rounding, relative to the largest coordinate: what only nearly meets a cell meets it.
constexpr double kSlack = 1e-12;

std::vector<Segment> edges_of(const PlaneShape& shape) {
    std::vector<Segment> out;
    if (shape.is_point()) out.push_back({shape.point, shape.point});
    for (size_t i = 1; i < shape.line.size(); ++i)
        out.push_back({shape.line[i - 1], shape.line[i]});
    for (const auto& polygon : shape.polygons)
        for (const PlaneRing& ring : polygon)
            for (size_t i = 0; i < ring.size(); ++i)
                out.push_back({ring[i], ring[(i + 1) % ring.size()]});
    return out;
}

/// Whether a segment has a point in the box; both are closed.
bool meets_box(const Segment& s, const PlaneBox& box) {
    if (s.max_x() < box.xmin || s.min_x() > box.xmax || s.max_y() < box.ymin ||
        s.min_y() > box.ymax)
        return false;
    // All corners lie on one side of the segment's line.
    int left = 0;
    int right = 0;
    for (const PlanePoint corner :
         {PlanePoint{box.xmin, box.ymin}, PlanePoint{box.xmin, box.ymax},
          PlanePoint{box.xmax, box.ymin}, PlanePoint{box.xmax, box.ymax}}) {
        const int side = sign(turn(s.a, s.b, corner));
        left += side > 0 ? 1 : 0;
        right += side < 0 ? 1 : 0;
    }
    return left < 4 && right < 4;
}

struct Cell {
    uint32_t level = 0;
    uint32_t x = 0;  ///< of the 2^level columns, from the left
    uint32_t y = 0;
    std::vector<uint32_t> edges;  ///< of the shape, that meet it
    bool inside = false;          ///< wholly in the shape: dividing it gains nothing
};

uint64_t number_of(uint32_t level, uint32_t x, uint32_t y) {
    uint64_t way = 0;
    for (uint32_t i = level; i-- > 0;) way = way << 2 | ((y >> i) & 1U) << 1 | ((x >> i) & 1U);
    const uint64_t last = uint64_t{1} << (63 - 2 * level);
    return level == 0 ? last : way << (64 - 2 * level) | last;
}

class Coverer {
public:
    /// Covers whatever is within `distance` of the shape.
    Coverer(const PlaneShape& shape, const PlaneBox& box, double distance)
        : shape_(shape), box_(box), edges_(edges_of(shape)) {
        double largest = std::max(
            {std::abs(box.xmin), std::abs(box.xmax), std::abs(box.ymin), std::abs(box.ymax)});
        for (const Segment& s : edges_)
            largest = std::max({largest, std::abs(s.a.x), std::abs(s.a.y)});
        margin_ = distance * (1 + 1e-9) + largest * kSlack;
    }

    std::vector<uint64_t> cover(size_t cells_max) {
        Cell root;
        for (uint32_t i = 0; i < edges_.size(); ++i)
            if (meets_box(edges_[i], reach(root))) root.edges.push_back(i);
        if (root.edges.empty()) {
            if (!holds_middle(root)) return {};
            root.inside = true;
        }
        std::vector<Cell> open{std::move(root)};  // largest first
        std::vector<uint64_t> done;
        for (size_t at = 0; at < open.size(); ++at) {
            Cell& cell = open[at];
            std::vector<Cell> parts;
            if (!cell.inside && cell.level < kLevelMax) parts = quarters(cell);
            const size_t others = done.size() + open.size() - at - 1;
            if (parts.empty() || (parts.size() > 1 && others + parts.size() > cells_max)) {
                done.push_back(number_of(cell.level, cell.x, cell.y));
                continue;
            }
            for (Cell& part : parts) open.push_back(std::move(part));
        }
        std::sort(done.begin(), done.end());
        return done;
    }

private:
    double border(double low, double high, uint32_t number, uint32_t level) const {
        // The result is the same for every level that has this border.
        const double share = std::ldexp(static_cast<double>(number), -static_cast<int>(level));
        return share == 1 ? high : low + (high - low) * share;
    }
    PlaneBox bounds(const Cell& cell) const {
        return {border(box_.xmin, box_.xmax, cell.x, cell.level),
                border(box_.ymin, box_.ymax, cell.y, cell.level),
                border(box_.xmin, box_.xmax, cell.x + 1, cell.level),
                border(box_.ymin, box_.ymax, cell.y + 1, cell.level)};
    }
    PlaneBox reach(const Cell& cell) const {
        const PlaneBox b = bounds(cell);
        return {b.xmin - margin_, b.ymin - margin_, b.xmax + margin_, b.ymax + margin_};
    }
    /// For a cell that no edge comes near.
    bool holds_middle(const Cell& cell) const {
        const PlaneBox b = bounds(cell);
        const PlanePoint middle{b.xmin + (b.xmax - b.xmin) / 2, b.ymin + (b.ymax - b.ymin) / 2};
        return std::any_of(shape_.polygons.begin(), shape_.polygons.end(),
                           [&](const auto& polygon) {
                               return place_in_polygon(middle, polygon) != Place::kOutside;
                           });
    }
    std::vector<Cell> quarters(const Cell& cell) const {
        std::vector<Cell> out;
        for (uint32_t part = 0; part < 4; ++part) {
            Cell quarter;
            quarter.level = cell.level + 1;
            quarter.x = cell.x * 2 + (part & 1U);
            quarter.y = cell.y * 2 + (part >> 1U);
            const PlaneBox around = reach(quarter);
            for (const uint32_t edge : cell.edges)
                if (meets_box(edges_[edge], around)) quarter.edges.push_back(edge);
            if (quarter.edges.empty()) {
                if (!holds_middle(quarter)) continue;
                quarter.inside = true;
            }
            out.push_back(std::move(quarter));
        }
        return out;
    }

    const PlaneShape& shape_;
    const PlaneBox box_;
    const std::vector<Segment> edges_;
    double margin_ = 0;
};

bool in_box(const PlaneShape& shape, const PlaneBox& box) {
    const std::vector<Segment> edges = edges_of(shape);
    return std::all_of(edges.begin(), edges.end(), [&](const Segment& s) {
        return s.a.x >= box.xmin && s.a.x <= box.xmax && s.a.y >= box.ymin && s.a.y <= box.ymax &&
               s.b.x >= box.xmin && s.b.x <= box.xmax && s.b.y >= box.ymin && s.b.y <= box.ymax;
    });
}

/// The column of a coordinate; one on a border may be put on either side.
uint32_t column(double value, double low, double high) {
    constexpr double kColumns = 1U << kLevelMax;
    return static_cast<uint32_t>(
        std::clamp(std::floor((value - low) / (high - low) * kColumns), 0.0, kColumns - 1));
}

}  // namespace

std::vector<uint64_t> plane_covering(const PlaneShape& shape, const PlaneBox& box,
                                     size_t cells_max) {
    if (!in_box(shape, box)) return {};
    if (shape.is_point())
        return {number_of(kLevelMax, column(shape.point.x, box.xmin, box.xmax),
                          column(shape.point.y, box.ymin, box.ymax))};
    return Coverer(shape, box, 0).cover(cells_max);
}

std::vector<uint64_t> plane_search(const PlaneShape& shape, double distance, const PlaneBox& box,
                                   size_t cells_max) {
    return Coverer(shape, box, distance).cover(cells_max);
}

std::pair<uint64_t, uint64_t> plane_cells_inside(uint64_t cell) {
    const uint64_t last_one = cell & (~cell + 1);
    return {cell - (last_one - 1), cell + (last_one - 1)};
}

uint64_t plane_cell_around(uint64_t cell) {
    const int zeros = std::countr_zero(cell);
    if (zeros >= 63) return 0;
    const uint64_t one = uint64_t{1} << (zeros + 2);
    return (cell & ~(one | (one - 1))) | one;
}

}  // namespace orrery::index::detail
