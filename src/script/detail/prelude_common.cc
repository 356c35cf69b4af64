#include "script/detail/prelude.h"

namespace orrery::script::detail {

// `new Error(404, 'text')` is how scripts for the service attach a number.
//
// A few of the language's functions on texts take, at worst, time in proportion to the product of
// two lengths, and nothing interrupts them: a run would go on for minutes beyond its limit because
// of what somebody wrote into an item. Such calls are refused. This is no fence around scripts that
// look for a way past it (regular expressions, collators).
const std::string_view kCommonPrelude = R"js((function () {
'use strict';
const NativeError = Error;
const construct = Reflect.construct;
function ScriptError(...args) {
    const target = new.target === undefined ? ScriptError : new.target;
    if (typeof args[0] !== 'number') return construct(NativeError, args, target);
    const error = construct(NativeError, args.length > 1 ? [args[1]] : [], target);
    Object.defineProperty(error, 'number', {value: args[0], writable: true, enumerable: true, configurable: true});
    return error;
}
const hidden = {writable: true, enumerable: false, configurable: true};
Object.defineProperty(ScriptError, 'name', {value: 'Error', configurable: true});
Object.defineProperty(ScriptError, 'length', {value: 1, configurable: true});
Object.defineProperty(ScriptError, 'prototype', {value: NativeError.prototype, writable: false});
Object.defineProperty(NativeError.prototype, 'constructor', {...hidden, value: ScriptError});
Object.defineProperty(globalThis, 'Error', {...hidden, value: ScriptError});
for (const kind of [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError])
    Object.setPrototypeOf(kind, ScriptError);

const kComparedMax = 2 ** 36, kMarksMax = 1000;
const apply = Reflect.apply, test = RegExp.prototype.test, hasManyMarks = /\p{M}{1001}/u;
function checkSearch(text, sought) {
    if (typeof text === 'string' && typeof sought === 'string' && sought.length <= text.length && sought.length * text.length > kComparedMax)
        throw new RangeError('a text of ' + text.length + ' characters cannot be searched for one of ' + sought.length + ': that could take minutes');
}
function checkMarks(...texts) {
    for (const text of texts)
        if (typeof text === 'string' && text.length > kMarksMax && apply(test, hasManyMarks, [text]))
            throw new RangeError('a text with more than ' + kMarksMax + ' combining marks in a row cannot be normalized or collated: that could take minutes');
}
function guard(name, check) {
    const original = String.prototype[name];
    const {[name]: guarded} = {[name](...args) { check(this, args[0]); return apply(original, this, args); }};
    Object.defineProperty(guarded, 'length', {value: original.length, configurable: true});
    Object.defineProperty(String.prototype, name, {...hidden, value: guarded});
}
for (const name of ['indexOf', 'lastIndexOf', 'includes', 'split', 'replace', 'replaceAll']) guard(name, checkSearch);
for (const name of ['normalize', 'localeCompare']) guard(name, checkMarks);
}))js";

}  // namespace orrery::script::detail
