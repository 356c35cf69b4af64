#include "index/spatial.h"

#include <s2/s2cap.h>
#include <s2/s2cell_id.h>
#include <s2/s2region_coverer.h>
#include <s2/s2shape_index_buffered_region.h>
#include <s2/s2shape_index_region.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/bytes.h"
#include "index/detail/plane_cells.h"
#include "index/detail/roomy_region.h"
#include "index/detail/shape.h"
#include "index/detail/term_format.h"

namespace orrery::index {
namespace {

constexpr int kSearchCellsMax = 16;
/// The smallest cells that are posted, about half a metre wide. A stored entry must be found again
/// from the item, perhaps on another machine: the larger a cell is, the less a last bit matters.
constexpr int kLevelMax = 24;
/// Room for what touches and for rounding: about a hundredth of a millimetre.
constexpr double kSlackAngle = 1e-12;
static_assert(kSlackAngle > 2 * detail::kTouchAngle);
constexpr double kSlack = 1 + 1e-9;

std::string cell_term(uint64_t cell) {
    std::string out;
    append_cell_term(out, cell);
    return out;
}
std::string cell_term(S2CellId cell) {
    return cell_term(cell.id());
}

std::vector<S2CellId> search_cells(const detail::Shape& shape, double metres) {
    const double angle = metres / detail::kMetresMin * kSlack + kSlackAngle;
    S2RegionCoverer::Options options;
    options.set_max_cells(kSearchCellsMax);
    options.set_max_level(kLevelMax);
    S2RegionCoverer coverer(options);
    std::vector<S2CellId> cells;
    if (!(angle < M_PI)) {
        for (int face = 0; face < S2CellId::kNumFaces; ++face)
            cells.push_back(S2CellId::FromFace(face));
        return cells;
    }
    const S1ChordAngle radius{S1Angle::Radians(angle)};
    if (shape.is_point()) {
        coverer.GetCovering(S2Cap(shape.point, radius), &cells);
    } else if (metres == 0) {
        coverer.GetCovering(detail::RoomyRegion(shape.edges, angle), &cells);
    } else {
        coverer.GetCovering(S2ShapeIndexBufferedRegion(&shape.edges, radius), &cells);
    }
    return cells;
}

std::vector<TermRange> plane_cells_near(const detail::PlaneShape& shape, double distance,
                                        const PlaneBox& box) {
    std::vector<TermRange> out{term_ranges::undefined()};
    std::set<uint64_t> ancestors;
    for (const uint64_t cell : detail::plane_search(shape, distance, box, kSearchCellsMax)) {
        const auto [first, last] = detail::plane_cells_inside(cell);
        out.push_back({cell_term(first), prefix_successor(cell_term(last)), false});
        for (uint64_t around = detail::plane_cell_around(cell); around != 0;
             around = detail::plane_cell_around(around))
            ancestors.insert(around);
    }
    for (const uint64_t ancestor : ancestors)
        out.push_back(term_ranges::of_term(cell_term(ancestor)));
    term_ranges::normalize(out);
    return out;
}

}  // namespace

uint64_t spatial_hash(SipKey key, uint64_t path_hash, const SpatialGrid& grid) {
    std::string box;
    if (grid.box)
        for (const double side : {grid.box->xmin, grid.box->ymin, grid.box->xmax, grid.box->ymax})
            append_u64_be(box, detail::ordered_bits(side));
    return detail::step_hash(key, path_hash, detail::StepKind::kSpatial, box);
}

std::optional<Geometry> parse_in(const SpatialGrid& grid, const json::Value& geojson) {
    return Geometry::parse(geojson, nullptr,
                           grid.box ? GeometrySpace::kPlane : GeometrySpace::kEarth);
}

std::vector<uint64_t> covering_cells(const Geometry& geometry, const SpatialGrid& grid) {
    if ((grid.types & (1U << static_cast<unsigned>(geometry.type()))) == 0) return {};
    if (grid.box) return detail::plane_covering(geometry.plane(), *grid.box, kGeometryCellsMax);
    const detail::Shape& shape = geometry.shape();
    if (shape.is_point()) return {S2CellId(shape.point).parent(kLevelMax).id()};
    S2RegionCoverer::Options options;
    options.set_max_cells(kGeometryCellsMax);
    options.set_max_level(kLevelMax);
    S2RegionCoverer coverer(options);
    std::vector<S2CellId> cells;
    coverer.GetCovering(MakeS2ShapeIndexRegion(&shape.edges), &cells);
    std::vector<uint64_t> out;
    out.reserve(cells.size());
    for (const S2CellId cell : cells) out.push_back(cell.id());
    std::sort(out.begin(), out.end());
    DCHECK(out.size() <= static_cast<size_t>(kGeometryCellsMax));
    return out;
}

void append_cell_term(std::string& out, uint64_t cell) {
    out.push_back(static_cast<char>(detail::TermType::kCell));
    append_u64_be(out, cell);
}

void append_uncovered_term(std::string& out) {
    out.push_back(static_cast<char>(detail::TermType::kUndefined));
}

std::vector<TermRange> cells_near(const Geometry& geometry, double distance,
                                  const SpatialGrid& grid) {
    if (grid.box) return plane_cells_near(geometry.plane(), distance, *grid.box);
    std::vector<TermRange> out{term_ranges::undefined()};
    std::set<uint64_t> ancestors;
    for (const S2CellId cell : search_cells(geometry.shape(), distance)) {
        // A posted cell that shares a point with this one is inside it or around it.
        out.push_back(
            {cell_term(cell.range_min()), prefix_successor(cell_term(cell.range_max())), false});
        for (int level = 0; level < cell.level(); ++level)
            ancestors.insert(cell.parent(level).id());
    }
    for (const uint64_t ancestor : ancestors)
        out.push_back(term_ranges::of_term(cell_term(S2CellId(ancestor))));
    term_ranges::normalize(out);
    return out;
}

bool posts_in(const json::Value& geojson, const std::vector<TermRange>& ranges,
              const SpatialGrid& grid) {
    const auto geometry = parse_in(grid, geojson);
    if (!geometry) return false;
    const auto is_in = [&](const std::string& term) {
        return std::any_of(ranges.begin(), ranges.end(), [&](const TermRange& range) {
            return term >= range.begin && term < range.end;
        });
    };
    const std::vector<uint64_t> cells = covering_cells(*geometry, grid);
    if (cells.empty()) {
        std::string term;
        append_uncovered_term(term);
        return is_in(term);
    }
    return std::any_of(cells.begin(), cells.end(),
                       [&](uint64_t cell) { return is_in(cell_term(cell)); });
}

}  // namespace orrery::index
