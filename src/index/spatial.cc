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
#include "index/detail/shape.h"
#include "index/detail/term_format.h"

namespace orrery::index {
namespace {

constexpr int kSearchCellsMax = 16;
/// The smallest cells that are posted, about half a metre wide. A stored entry must be found again
/// from the item, perhaps on another machine: the larger a cell is, the less a last bit matters.
constexpr int kLevelMax = 24;
/// Room for rounding: about a hundredth of a millimetre.
constexpr double kSlackAngle = 1e-12;
constexpr double kSlack = 1 + 1e-9;

std::string cell_term(S2CellId cell) {
    std::string out;
    append_cell_term(out, cell.id());
    return out;
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
        coverer.GetCovering(MakeS2ShapeIndexRegion(&shape.edges), &cells);  // has room of its own
    } else {
        coverer.GetCovering(S2ShapeIndexBufferedRegion(&shape.edges, radius), &cells);
    }
    return cells;
}

}  // namespace

uint64_t spatial_hash(SipKey key, uint64_t path_hash) {
    return detail::step_hash(key, path_hash, detail::StepKind::kSpatial, {});
}

std::vector<uint64_t> covering_cells(const Geometry& geometry) {
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

std::vector<TermRange> cells_near(const Geometry& geometry, double metres) {
    std::vector<TermRange> out{term_ranges::undefined()};
    std::set<uint64_t> ancestors;
    for (const S2CellId cell : search_cells(geometry.shape(), metres)) {
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

bool posts_in(const json::Value& geojson, const std::vector<TermRange>& ranges) {
    const auto geometry = Geometry::parse(geojson);
    if (!geometry) return false;
    for (const uint64_t cell : covering_cells(*geometry)) {
        std::string term;
        append_cell_term(term, cell);
        for (const TermRange& range : ranges)
            if (term >= range.begin && term < range.end) return true;
    }
    return false;
}

}  // namespace orrery::index
