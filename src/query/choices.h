#pragma once

/// The points of the language on which sources disagree or are silent: one switch each.
namespace orrery::query::choices {

/// `7 = "7"` is false and `7 != "7"` true; otherwise both are undefined.
inline constexpr bool kCrossTypeEqualityIsDefined = true;
/// `NOT a = b` is `(NOT a) = b`; otherwise `NOT (a = b)`.
inline constexpr bool kNotBindsTightly = true;
/// With both in one query OFFSET and LIMIT apply first and TOP cuts what is left.
inline constexpr bool kTopAfterLimit = true;
/// Two items of a SELECT list with one output name are refused; otherwise the last one wins.
inline constexpr bool kRefuseDuplicateNames = true;
/// LENGTH, SUBSTRING, INDEX_OF … count UTF-16 code units; otherwise code points.
inline constexpr bool kCountUtf16Units = true;
/// ARRAY_CONTAINS on something that is no array is undefined; otherwise false.
inline constexpr bool kArrayContainsOfNonArrayIsUndefined = true;
/// REGEXMATCH with a malformed pattern or modifier is undefined; otherwise the query fails.
inline constexpr bool kBadRegexIsUndefined = true;
/// `-- text` up to the end of the line is white space.
inline constexpr bool kComments = true;
/// `null <= null` and `null >= null` are true; otherwise undefined.
inline constexpr bool kNullsCompareEqual = true;

}  // namespace orrery::query::choices
