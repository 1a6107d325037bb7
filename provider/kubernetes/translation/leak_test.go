package translation

import (
	"math/rand/v2"
	"testing"
)

// TestNothingIsLeftOfWhatIsGone proves that a memory holds on to nothing when all objects have gone, whatever came
// before.
func TestNothingIsLeftOfWhatIsGone(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := &world{objects: map[Source]object{}, secrets: map[Source]int{}}
		memory := New("test", kinds(), nil)
		for range 30 {
			memory.Touch(w.change(random))
			memory.Update(w.translate)
		}
		for source := range w.objects {
			memory.Touch(source)
			delete(w.objects, source)
			if random.IntN(2) == 0 {
				memory.Update(w.translate)
			}
		}
		configuration, _ := memory.Update(w.translate)
		held := len(memory.entries) + len(memory.dependents) + len(memory.touched) + len(memory.declared) +
			len(memory.dirty) + len(memory.certificates) + memory.origins.Len() + len(memory.refused) + len(memory.judged) +
			len(configuration.Verdicts)
		for range configuration.Objects() {
			held++
		}
		if held > 0 {
			t.Errorf("seed %d: %d things are left in %+v", seed, held, memory)
		}
	}
}
