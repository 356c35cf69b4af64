#include "script/detail/prelude.h"

namespace orrery::script::detail {

// `new Error(404, 'text')` is how scripts for the service attach a number.
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
}))js";

}  // namespace orrery::script::detail
