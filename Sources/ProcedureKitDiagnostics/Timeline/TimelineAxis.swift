/// The marks on a time axis, placed at round values, for example every 20 milliseconds.
struct TimelineAxis {
  /// The marked times, starting at zero.
  let marks: [Duration]

  /// Creates an axis whose marks are at round values.
  ///
  /// - Parameters:
  ///   - duration: The length of the axis.
  ///   - count: The approximate number of marks.
  init(_ duration: Duration, count: Int) {
    let nanoseconds = max(duration.inNanoseconds, 1)
    var step: Int64 = 1
    let factors: [Int64] = [2, 5, 10]
    var decade: Int64 = 1
    while nanoseconds / step > Int64(count) {
      let next = factors.map { decade.multipliedReportingOverflow(by: $0) }.first {
        !$0.overflow && $0.partialValue > step
      }
      guard let next else { break }
      step = next.partialValue
      if step == decade * 10 { decade = step }
    }
    marks = stride(from: 0, through: nanoseconds, by: Int64.Stride(step)).map { .nanoseconds($0) }
  }
}
