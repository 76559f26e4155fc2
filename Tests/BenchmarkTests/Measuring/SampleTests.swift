import Testing

@testable import Benchmark

@Suite struct SampleTests {
  @Test(
    "The median is the middle value, or the mean of the two middle values",
    arguments: [([3.0], 3.0), ([1, 9], 5), ([9, 1, 4], 4), ([4, 1, 3, 2], 2.5)] as [([Double], Double)])
  func median(_ values: [Double], _ median: Double) {
    #expect(Sample(values).median == median)
  }

  @Test("The spread is half the distance between the quartiles, relative to the median")
  func spread() {
    #expect(Sample([1, 2, 3, 4, 5]).spread == 1.0 / 3)
    #expect(Sample([7]).spread == 0)
    #expect(Sample([0, 0, 0]).spread == 0)
    #expect(Sample([-1, -2, -3]).spread == 0.25)
  }

  @Test("An outlier changes neither the median nor the spread")
  func outlier() {
    #expect(Sample([10, 10, 10, 10, 5_000]).median == 10)
    #expect(Sample([10, 10, 10, 10, 5_000]).spread == 0)
  }

  @Test("Ratios and differences are computed within each round")
  func ratios() {
    let drifting = Sample([10, 20, 40])
    #expect(drifting.ratios(to: Sample([5, 10, 20])) == Sample([2, 2, 2]))
    #expect(drifting.differences(to: Sample([9, 19, 39])) == Sample([1, 1, 1]))
  }
}
