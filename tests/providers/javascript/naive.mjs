// A second opinion on payload filters, written from the words of the
// specification alone and without any thought of speed: no part of it knows how
// the server does it.

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isScalar = (value) => value === null || typeof value !== "object";

/** An object with only these keys is a test of the value; any other one nests. */
const operators = ["in", "not_in", "exists"];
const isTest = (pattern) => Array.isArray(pattern) || Object.keys(pattern).every((key) => operators.includes(key));

/** Strings exactly, numbers by value, and no kind equals another kind. */
const same = (a, b) => typeof a === typeof b && a === b;

/** Whether a value, or one of the scalars of an array, is in the set. */
function overlaps(set, value) {
  const seen = Array.isArray(value) ? value.filter(isScalar) : [value];
  return seen.some((one) => isScalar(one) && set.some((wanted) => same(wanted, one)));
}

/** Whether one field passes its test; a missing one is told apart from null. */
function passes(test, present, value) {
  if (Array.isArray(test)) return passes({ in: test }, present, value);
  if ("exists" in test && test.exists !== present) return false;
  if ("in" in test && !(present && overlaps(test.in, value))) return false;
  if ("not_in" in test && present && overlaps(test.not_in, value)) return false;
  return true;
}

/** Whether an object has all that the pattern asks for. */
function objectMatches(pattern, object) {
  return Object.entries(pattern).every(([key, wanted]) => {
    const present = Object.hasOwn(object, key);
    if (isTest(wanted)) return passes(wanted, present, object[key]);
    return present && nestMatches(wanted, object[key]);
  });
}

/** A nested pattern needs an object, or an array with one object that has it all. */
function nestMatches(pattern, value) {
  if (Array.isArray(value)) return value.some((one) => isObject(one) && objectMatches(pattern, one));
  return isObject(value) && objectMatches(pattern, value);
}

/** Whether a body matches a filter; no filter matches every body. */
export function matches(filter, body) {
  return filter === undefined || nestMatches(filter, body);
}
