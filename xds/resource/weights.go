package resource

import "math/big"

// unit returns 1.
func unit() *big.Rat { return big.NewRat(1, 1) }

// integers returns whole numbers in the ratio of the given ones, which are not negative. If their sum is at most limit,
// they are exact: the given numbers, multiplied by their common denominator. Otherwise they are rounded, so that the
// sum is at most limit and no number but 0 becomes 0; limit must be above the count of numbers.
func integers(ratio []*big.Rat, limit uint32) []uint32 {
	scale, sum := big.NewInt(1), new(big.Rat)
	for _, each := range ratio {
		divisor := new(big.Int).GCD(nil, nil, scale, each.Denom())
		scale.Mul(scale, divisor.Quo(each.Denom(), divisor))
		sum.Add(sum, each)
	}
	factor := new(big.Rat).SetInt(scale)
	if new(big.Rat).Mul(sum, factor).Cmp(new(big.Rat).SetInt64(int64(limit))) > 0 {
		// Each number may grow by 1 where 0 becomes 1.
		factor.SetInt64(max(int64(limit)-int64(len(ratio)), 1))
		factor.Quo(factor, sum)
	}
	out := make([]uint32, len(ratio))
	for i, each := range ratio {
		if each.Sign() > 0 {
			number := new(big.Rat).Mul(each, factor)
			floor := new(big.Int).Quo(number.Num(), number.Denom())
			out[i] = uint32(max(floor.Uint64(), 1)) //nolint:gosec // at most limit
		}
	}
	return out
}
