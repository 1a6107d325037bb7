package expression

import "math"

// MaxPriority is the highest priority that a declared router may have; what is above belongs to Sluice's own routers.
const MaxPriority = math.MaxInt - 1000
