#include "script/detail/prelude.h"

namespace orrery::script::detail {

// `new Error(404, 'text')` is how scripts for the service attach a number.
//
// A few of the language's functions on texts take, at worst, time in proportion to the product of
// two lengths, and nothing interrupts them: a run would go on for minutes beyond its limit because
// of what somebody wrote into an item. Such calls are refused, whatever the two are before they
// become texts. Each is made a text once, as the language does it, and the function gets that; none
// of what a script can replace is used. Other functions take as long; what is stuck in one of those
// is the watchdog's.
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
const apply = Reflect.apply, exec = RegExp.prototype.exec, hasManyMarks = /\p{M}{1001}/u, indexOf = String.prototype.indexOf, match = Symbol.match;
const isObject = (value) => value !== null && (typeof value === 'object' || typeof value === 'function');
function checkSearch(text, sought) {
    if (sought.length <= text.length && sought.length * text.length > kComparedMax)
        throw new RangeError('a text of ' + text.length + ' characters cannot be searched for one of ' + sought.length + ': that could take minutes');
}
function checkMarks(text) {
    if (text.length > kMarksMax && apply(exec, hasManyMarks, [text]) !== null)
        throw new RangeError('a text with more than ' + kMarksMax + ' combining marks in a row cannot be normalized or collated: that could take minutes');
}
function isRegExp(value) { return isObject(value) && !!value[match]; }
// `symbol`: whose method of the argument does the work if it has one. `regExp`: what of an argument that is a regular expression.
function guardSearch(name, {symbol, regExp}) {
    guard(name, (original, self, args) => {
        if (self === undefined || self === null) return apply(original, self, args);
        let text = self;
        if (symbol === undefined) text = `${self}`;
        if (isObject(args[0])) {
            if (regExp !== undefined && isRegExp(args[0])) regExp(args[0]);
            const method = symbol === undefined ? undefined : args[0][symbol];
            if (method !== undefined && method !== null) return apply(method, args[0], [self, args[1]]);
        } else if (symbol !== undefined && args[0] === undefined) {
            return apply(original, self, args);
        }
        text = `${text}`;
        args[0] = `${args[0]}`;
        checkSearch(text, args[0]);
        return apply(original, text, args);
    });
}
function guard(name, call) {
    const original = String.prototype[name];
    const {[name]: guarded} = {[name](...args) { return call(original, this, args); }};
    Object.defineProperty(guarded, 'length', {value: original.length, configurable: true});
    Object.defineProperty(String.prototype, name, {...hidden, value: guarded});
}
guardSearch('indexOf', {});
guardSearch('lastIndexOf', {});
guardSearch('includes', {regExp() { throw new TypeError('the text that is looked for cannot be a regular expression'); }});
guardSearch('split', {symbol: Symbol.split});
guardSearch('replace', {symbol: Symbol.replace});
guardSearch('replaceAll', {symbol: Symbol.replace, regExp(value) {
    const flags = value.flags;
    if (flags === undefined || flags === null || apply(indexOf, `${flags}`, ['g']) < 0)
        throw new TypeError('replaceAll must be called with a global regular expression');
}});
guard('normalize', (original, self, args) => {
    if (self === undefined || self === null) return apply(original, self, args);
    const text = `${self}`;
    checkMarks(text);
    return apply(original, text, args);
});
guard('localeCompare', (original, self, args) => {
    if (self === undefined || self === null) return apply(original, self, args);
    const text = `${self}`;
    args[0] = `${args[0]}`;
    checkMarks(text);
    checkMarks(args[0]);
    return apply(original, text, args);
});
}))js";

}  // namespace orrery::script::detail
