"""Sixteen lanes of 32 or 64 bits: a fixed-width vector as an ordinary value in numba and in Python.

Why by hand: numba has no vector type, and LLVM's loop vectoriser may neither reorder a floating-point sum nor drop its
alias checks, so tight loops of a few dozen topics stay scalar. Here every operation is element-wise or follows one
written-out tree, so the result is the same bits on every IEEE machine whatever width its registers have (LLVM
splits the sixteen lanes as the processor needs).

In compiled code a value is an LLVM ``<16 x float>``, ``<16 x double>`` or ``<16 x i32>``; in a kernel's Python body it
is a numpy array of sixteen ``float32``, ``float64`` or ``uint32``. Both definitions of each function are next to each
other below, and the tests compare them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable

from discreet._types import Int

LANES = 16

F32Lanes = npt.NDArray[np.float32]
F64Lanes = npt.NDArray[np.float64]
U32Lanes = npt.NDArray[np.uint32]


class _LanesType(types.Type):  # type: ignore[misc]  # numba ships no types
    def __init__(self, name: str, scalar: types.Type, llvm_scalar: ir.Type) -> None:
        super().__init__(name=name)
        self.scalar = scalar
        self.llvm = ir.VectorType(llvm_scalar, LANES)


_f32x16 = _LanesType("f32x16", types.float32, ir.FloatType())
_u32x16 = _LanesType("u32x16", types.uint32, ir.IntType(32))
_f64x16 = _LanesType("f64x16", types.float64, ir.DoubleType())
_BY_DTYPE = {types.float32: _f32x16, types.float64: _f64x16, types.uint32: _u32x16}


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: _LanesType) -> None:
        super().__init__(dmm, fe_type, fe_type.llvm)


def _compiled(python_body: Callable[..., Any], typer: Callable[..., Any]) -> Callable[[Callable[..., Any]], None]:
    """Register the compiled form of ``python_body``: ``typer`` gives its signature, the decorated function its code.

    numba's ``overload`` would be shorter, but it wraps the code in a function, and passing an array to a function
    counts references: two atomic operations around every load of the innermost loop.
    """

    def register(generate: Callable[..., Any]) -> None:
        type_callable(python_body)(lambda context: typer)
        lower_builtin(python_body, types.VarArg(types.Any))(
            lambda context, builder, signature, args: generate(context, builder, signature, *args)
        )

    return register


def _elementwise(op: Callable[..., Any], on: _LanesType, instruction: str) -> None:
    """Let ``op`` work on two compiled lanes, as it does on two numpy arrays."""
    type_callable(op)(lambda context: lambda a, b: on if a is on and b is on else None)
    lower_builtin(op, on, on)(lambda context, builder, signature, args: getattr(builder, instruction)(*args))


_elementwise(operator.add, _f32x16, "fadd")
_elementwise(operator.sub, _f32x16, "fsub")
_elementwise(operator.mul, _f32x16, "fmul")
_elementwise(operator.truediv, _f32x16, "fdiv")
_elementwise(operator.add, _f64x16, "fadd")
_elementwise(operator.sub, _f64x16, "fsub")
_elementwise(operator.mul, _f64x16, "fmul")
_elementwise(operator.truediv, _f64x16, "fdiv")
_elementwise(operator.add, _u32x16, "add")
_elementwise(operator.mul, _u32x16, "mul")
_elementwise(operator.xor, _u32x16, "xor")


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any, to: ir.Type) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), to.as_pointer())


def _spread(builder: Any, scalar: Any, llvm_type: ir.VectorType) -> Any:
    undefined = ir.Constant(llvm_type, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, _lane_numbers([0] * LANES))


def _lane_numbers(numbers: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(ir.IntType(32), LANES), numbers)


def _intrinsic(builder: Any, name: str, *lanes: Any) -> Any:
    kind = ir.FunctionType(_f32x16.llvm, [_f32x16.llvm] * len(lanes))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f32"), lanes)


# --- memory ---------------------------------------------------------------------------------------------------------


def load(array: Any, start: Int) -> Any:
    """The sixteen values from ``start`` on of a flat contiguous array."""
    return array[start : start + LANES].copy()


@_compiled(load, lambda array, start: _BY_DTYPE[array.dtype](array, types.intp))
def _(context: Any, builder: Any, signature: Any, array: Any, start: Any) -> Any:
    pointer = _pointer(context, builder, signature.args[0], array, start, signature.return_type.llvm)
    return builder.load(pointer, align=4)


def store(array: Any, start: Int, lanes: Any) -> None:
    """Write sixteen values from ``start`` on."""
    array[start : start + LANES] = lanes


@_compiled(store, lambda array, start, lanes: types.void(array, types.intp, lanes))
def _(context: Any, builder: Any, signature: Any, array: Any, start: Any, lanes: Any) -> Any:
    builder.store(lanes, _pointer(context, builder, signature.args[0], array, start, lanes.type), align=4)
    return context.get_dummy_value()


def prefetch(array: Any, index: Int) -> None:
    """Prefetch the cache line of ``array[index]``; affects only speed."""


@_compiled(prefetch, lambda array, index: types.void(array, types.intp))
def _(context: Any, builder: Any, signature: Any, array: Any, index: Any) -> Any:
    byte = ir.IntType(8)
    pointer = _pointer(context, builder, signature.args[0], array, index, byte)
    numbers = [ir.Constant(ir.IntType(32), n) for n in (0, 3, 1)]  # for reading, into all cache levels, data
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte.as_pointer(), *(n.type for n in numbers)]),
        "llvm.prefetch.p0",
    )
    builder.call(function, [pointer, *numbers])
    return context.get_dummy_value()


def gather(array: Any, start: Int, offsets: U32Lanes) -> Any:
    """``array[start + offsets]``, one value per lane."""
    return array[start + offsets.astype(np.int64)]


@_compiled(gather, lambda array, start, offsets: _BY_DTYPE[array.dtype](array, types.intp, offsets))
def _(context: Any, builder: Any, signature: Any, array: Any, start: Any, offsets: Any) -> Any:
    # Sixteen loads: the processor's own gather cannot read what was just stored, and waits for the cache.
    result = signature.return_type.llvm
    base = _pointer(context, builder, signature.args[0], array, start, result.element)
    lanes = ir.Constant(result, ir.Undefined)
    for i in range(LANES):
        number = ir.Constant(ir.IntType(32), i)
        offset = builder.zext(builder.extract_element(offsets, number), ir.IntType(64))
        lanes = builder.insert_element(lanes, builder.load(builder.gep(base, [offset]), align=4), number)
    return lanes


# --- making and moving lanes ----------------------------------------------------------------------------------------


def splat(value: Any) -> Any:
    """The same value in every lane."""
    return np.full(LANES, value)


@_compiled(splat, lambda value: _BY_DTYPE[value](value))
def _(context: Any, builder: Any, signature: Any, value: Any) -> Any:
    return _spread(builder, value, signature.return_type.llvm)


def rotate_left(lanes: U32Lanes, bits: int) -> U32Lanes:
    """Each lane rotated by a literal number of bits, 0 < bits < 32."""
    return (lanes << np.uint32(bits)) | (lanes >> np.uint32(32 - bits))


@_compiled(rotate_left, lambda lanes, bits: _u32x16(lanes, bits) if isinstance(bits, types.IntegerLiteral) else None)
def _(context: Any, builder: Any, signature: Any, lanes: Any, bits: Any) -> Any:
    count = signature.args[1].literal_value
    left, right = (ir.Constant(_u32x16.llvm, [n] * LANES) for n in (count, 32 - count))
    return builder.or_(builder.shl(lanes, left), builder.lshr(lanes, right))


def transpose(array: Any, start: Int) -> None:
    """Transpose, in place, the 16 by 16 values from ``start`` on."""
    square = array[start : start + LANES * LANES].reshape(LANES, LANES)
    square[:] = square.T.copy()


@_compiled(transpose, lambda array, start: types.void(array, types.intp))
def _(context: Any, builder: Any, signature: Any, array: Any, start: Any) -> Any:
    llvm = _BY_DTYPE[signature.args[0].dtype].llvm
    first = _pointer(context, builder, signature.args[0], array, start, llvm)
    pointers = [builder.gep(first, [ir.Constant(ir.IntType(64), i)]) for i in range(LANES)]
    rows = [builder.load(pointer, align=4) for pointer in pointers]
    # Interleaving the first half of the rows with the second half, four times over, is a transposition.
    low = _lane_numbers([n for i in range(LANES // 2) for n in (i, LANES + i)])
    high = _lane_numbers([n for i in range(LANES // 2, LANES) for n in (i, LANES + i)])
    for _ in range(4):
        pairs = zip(rows[: LANES // 2], rows[LANES // 2 :], strict=True)
        rows = [builder.shuffle_vector(a, b, half) for a, b in pairs for half in (low, high)]
    for row, pointer in zip(rows, pointers, strict=True):
        builder.store(row, pointer, align=4)
    return context.get_dummy_value()


# --- choices --------------------------------------------------------------------------------------------------------


def low_bits(lanes: U32Lanes) -> U32Lanes:
    """The lower sixteen bits of each lane."""
    return lanes & np.uint32(0xFFFF)


@_compiled(low_bits, lambda lanes: _u32x16(lanes))
def _(context: Any, builder: Any, signature: Any, lanes: Any) -> Any:
    return builder.and_(lanes, ir.Constant(_u32x16.llvm, [0xFFFF] * LANES))


def as_float(lanes: U32Lanes) -> F32Lanes:
    """Whole numbers below 2^24 as float32, exactly."""
    return lanes.astype(np.float32)


@_compiled(as_float, lambda lanes: _f32x16(lanes))
def _(context: Any, builder: Any, signature: Any, lanes: Any) -> Any:
    return builder.uitofp(lanes, _f32x16.llvm)


def widen(lanes: F32Lanes) -> F64Lanes:
    """The same numbers as float64."""
    return lanes.astype(np.float64)


@_compiled(widen, lambda lanes: _f64x16(lanes))
def _(context: Any, builder: Any, signature: Any, lanes: Any) -> Any:
    return builder.fpext(lanes, _f64x16.llvm)


def whole_32(lanes: F32Lanes) -> U32Lanes:
    """Whole numbers of size below 2^31 in 32 bits, the negative ones as two's complement."""
    return lanes.astype(np.int32).view(np.uint32)


@_compiled(whole_32, lambda lanes: _u32x16(lanes))
def _(context: Any, builder: Any, signature: Any, lanes: Any) -> Any:
    return builder.fptosi(lanes, _u32x16.llvm)


def fused(a: F32Lanes, b: F32Lanes, c: F32Lanes) -> F32Lanes:
    """a · b + c, rounded once, as IEEE 754 defines it.

    One instruction in place of two, on every processor that has it; others compute it slowly and get the same bits.
    The Python body: float64 holds the product exactly, and a sum that it rounds is made odd in its last bit, so that
    rounding it again to float32 is rounding once (Boldo and Melquiond 2008).
    """
    product, summand = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + summand
    rest = total - product
    lost = (product - (total - rest)) + (summand - rest)
    bits = total.view(np.int64)
    even = np.isfinite(total) & np.isfinite(lost) & (lost != 0) & (bits & 1 == 0)
    odd: F32Lanes = (bits + np.where(even, np.where((lost > 0) == (total > 0), 1, -1), 0)).view(np.float64)
    return odd.astype(np.float32)


@_compiled(fused, lambda a, b, c: _f32x16(a, b, c))
def _(context: Any, builder: Any, signature: Any, a: Any, b: Any, c: Any) -> Any:
    return _intrinsic(builder, "fma", a, b, c)


def square_root(lanes: F32Lanes) -> F32Lanes:
    """Of numbers that are not negative; IEEE 754 rounds it in one way."""
    return np.sqrt(lanes)


@_compiled(square_root, lambda lanes: _f32x16(lanes))
def _(context: Any, builder: Any, signature: Any, lanes: Any) -> Any:
    return _intrinsic(builder, "sqrt", lanes)


def add_up(lanes: Any) -> Any:
    """The sum of all lanes: the upper half is added to the lower, four times."""
    for half in (8, 4, 2, 1):
        lanes = lanes[:half] + lanes[half : 2 * half]
    return lanes[0]


@_compiled(add_up, lambda lanes: {_f32x16: types.float32, _f64x16: types.float64}[lanes](lanes))
def _(context: Any, builder: Any, signature: Any, lanes: Any) -> Any:
    for half in (8, 4, 2, 1):
        upper = builder.shuffle_vector(lanes, lanes, _lane_numbers([(lane + half) % LANES for lane in range(LANES)]))
        lanes = builder.fadd(lanes, upper)
    return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))


def add_up_rows(array: Any, start: Int) -> Any:
    """Lane i is the sum of row i of the 16 by 16 values from ``start`` on, each by the tree of :func:`add_up`."""
    rows = array[start : start + LANES * LANES].reshape(LANES, LANES)
    for half in (8, 4, 2, 1):
        rows = rows[:, :half] + rows[:, half : 2 * half]
    return rows[:, 0].copy()


@_compiled(add_up_rows, lambda array, start: _BY_DTYPE[array.dtype](array, types.intp))
def _(context: Any, builder: Any, signature: Any, array: Any, start: Any) -> Any:
    # Two vectors at a time become one that holds the half sums of both: fifteen additions for sixteen rows.
    llvm = signature.return_type.llvm
    first = _pointer(context, builder, signature.args[0], array, start, llvm)
    vectors = [builder.load(builder.gep(first, [ir.Constant(ir.IntType(64), i)]), align=4) for i in range(LANES)]
    for half in (8, 4, 2, 1):
        blocks = [range(block, block + half) for block in range(0, LANES, 2 * half)]
        lower = _lane_numbers([n for block in blocks for other in (0, LANES) for n in (lane + other for lane in block)])
        upper = _lane_numbers(
            [n for block in blocks for other in (0, LANES) for n in (lane + half + other for lane in block)]
        )
        pairs = zip(vectors[:half], vectors[half:], strict=True)
        vectors = [
            builder.fadd(builder.shuffle_vector(a, b, lower), builder.shuffle_vector(a, b, upper)) for a, b in pairs
        ]
    return vectors[0]


def at_least(lanes: Any, least: Any) -> Any:
    """The larger of the two in each lane; neither may be NaN."""
    return np.where(lanes > least, lanes, least)


@_compiled(at_least, lambda lanes, least: lanes(lanes, least))
def _(context: Any, builder: Any, signature: Any, lanes: Any, least: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", lanes, least), lanes, least)


def truncate(lanes: F32Lanes) -> F32Lanes:
    """Towards zero, to whole numbers (still float32)."""
    return np.trunc(lanes)


@_compiled(truncate, lambda lanes: _f32x16(lanes))
def _(context: Any, builder: Any, signature: Any, lanes: Any) -> Any:
    return _intrinsic(builder, "trunc", lanes)


def whole_53(high: U32Lanes, low: U32Lanes) -> F64Lanes:
    """Uniform on the whole numbers below 2^53, from 64 random bits; exact in float64."""
    return high.astype(np.float64) * 2.0**21 + (low >> np.uint32(11)).astype(np.float64)


@_compiled(whole_53, lambda high, low: _f64x16(high, low))
def _(context: Any, builder: Any, signature: Any, high: Any, low: Any) -> Any:
    shifted = builder.lshr(low, ir.Constant(_u32x16.llvm, [11] * LANES))
    upper = builder.fmul(builder.uitofp(high, _f64x16.llvm), ir.Constant(_f64x16.llvm, [2.0**21] * LANES))
    return builder.fadd(upper, builder.uitofp(shifted, _f64x16.llvm))


def unit_interval(bits: U32Lanes) -> F32Lanes:
    """Uniform on the multiples of 2^-24 in [0, 1), from the high 24 of 32 random bits; exact in float32."""
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


@_compiled(unit_interval, lambda bits: _f32x16(bits))
def _(context: Any, builder: Any, signature: Any, bits: Any) -> Any:
    high = builder.lshr(bits, ir.Constant(_u32x16.llvm, [8] * LANES))
    return builder.fmul(builder.uitofp(high, _f32x16.llvm), ir.Constant(_f32x16.llvm, [2.0**-24] * LANES))


def passed(running: Any, mark: Any, total: Any) -> U32Lanes:
    """One if the mark has passed this running sum (``sum <= mark`` and ``sum < total``), else zero.

    The second condition is for a mark that rounding has raised to the total: it selects the last place with any weight.
    """
    flags: U32Lanes = ((running <= mark) & (running < total)).astype(np.uint32)
    return flags


@_compiled(passed, lambda running, mark, total: _u32x16(running, mark, total))
def _(context: Any, builder: Any, signature: Any, running: Any, mark: Any, total: Any) -> Any:
    both = builder.and_(builder.fcmp_ordered("<=", running, mark), builder.fcmp_ordered("<", running, total))
    return builder.zext(both, _u32x16.llvm)


def where(flags: U32Lanes, yes: Any, no: Any) -> Any:
    """``yes`` in the lanes whose flag is not zero, ``no`` in the others."""
    return np.where(flags != 0, yes, no)


@_compiled(where, lambda flags, yes, no: yes(flags, yes, no))
def _(context: Any, builder: Any, signature: Any, flags: Any, yes: Any, no: Any) -> Any:
    return builder.select(builder.icmp_unsigned("!=", flags, ir.Constant(_u32x16.llvm, [0] * LANES)), yes, no)
