#pragma once

#include <string>
#include <vector>

#include "lab/rules/cost.h"
#include "lab/rules/observation.h"

/// Embed or reference: for each relation that items show, what either way costs.
namespace orrery::lab {

struct Relation {
    enum class Kind : uint8_t { kEmbedded, kReferenced };
    enum class Advice : uint8_t { kEmbed, kReference, kMixed };
    Kind kind = Kind::kEmbedded;  ///< how it is stored now
    std::string path;             ///< of the array, or of the property that holds the other's id
    std::string target;  ///< container that the reference leads to; empty: unknown or embedded
    Advice advice = Advice::kEmbed;
    std::string why;
    // What the advice rests on.
    double elements_p50 = 0;
    double elements_p99 = 0;
    double element_bytes = 0;
    double rest_bytes = 0;        ///< of the item without it
    double reads = 0;             ///< of items with it, in the observed time
    double updates = 0;           ///< of items with it
    double relation_updates = 0;  ///< of them: those that changed the relation
    bool grows = false;
    double embedded_ru_month = 0;
    double referenced_ru_month = 0;
    MicroDollars saved_month = 0;  ///< by following the advice
};

/// Relations of one container, those worth most first.
std::vector<Relation> relations_of(const Observation& observation);
std::string relations_json(const std::vector<Relation>& relations);

}  // namespace orrery::lab
