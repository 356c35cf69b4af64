#pragma once

#include "lab/rules/rule.h"

/// One function per rule, in the order of their numbers. Pure: what they say depends on their
/// arguments alone.
namespace orrery::lab {

void judge_storage_skew(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_throughput_skew(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_low_cardinality(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_time_key(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_full_key(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_whale(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_weak_hierarchy(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_fan_out(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_point_query(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_meaningless_id(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_unbounded_array(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_large_hot_item(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_near_limit(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_blob(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_unused_index(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_missing_index(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_missing_composite(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_scan_function(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_chatty(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_denormalise(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_second_path(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_select_star(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_feed_dilution(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_small_pages(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_strong(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_over_provisioned(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_under_provisioned(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_autoscale(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_shared(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_container_per_type(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_fragmented(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_uneven_split(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_idle(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_no_expiry(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_contended(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_key_name(const Observation& of, const Thresholds& limits, Judgement& out);
void judge_cross_key(const Observation& of, const Thresholds& limits, Judgement& out);

}  // namespace orrery::lab
