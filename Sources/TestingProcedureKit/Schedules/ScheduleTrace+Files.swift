extension ScheduleTrace {
  /// The trace in the Trace Event Format, which <https://ui.perfetto.dev> and `chrome://tracing` show: a lane for each
  /// strand, a slice for each stretch of steps, and an arrow for each start and wake. One step lasts one microsecond.
  public var perfetto: String {
    let strands = Set(stretches.map(\.strand)).sorted()
    var events = [#"{"name":"process_name","ph":"M","pid":1,"args":{"name":"schedule"}}"#]
    for strand in strands {
      let name = Self.quoted(title(of: strand))
      events.append(#"{"name":"thread_name","ph":"M","pid":1,"tid":\#(strand),"args":{"name":\#(name)}}"#)
      events.append(#"{"name":"thread_sort_index","ph":"M","pid":1,"tid":\#(strand),"args":{"sort_index":\#(strand)}}"#)
    }
    for stretch in stretches {
      let name = Self.quoted(stretch.events.first ?? "steps")
      let list = stretch.events.map(Self.quoted).joined(separator: ",")
      events.append(
        #"{"name":\#(name),"ph":"X","pid":1,"tid":\#(stretch.strand),"ts":\#(stretch.steps.lowerBound),"#
          + #""dur":\#(stretch.steps.count),"args":{"events":[\#(list)]}}"#)
    }
    for (number, wake) in wakes.enumerated() {
      guard let target = stretches.first(where: { $0.strand == wake.strand && $0.steps.upperBound > wake.step }) else {
        continue
      }
      let end = max(target.steps.lowerBound, wake.step + 1)
      let name = wake.isStart ? "starts" : "wakes"
      let common = #""name":"\#(name)","cat":"wake","id":\#(number),"pid":1"#
      events.append(#"{\#(common),"ph":"s","tid":\#(wake.waker),"ts":\#(wake.step)}"#)
      events.append(#"{\#(common),"ph":"f","bp":"e","tid":\#(wake.strand),"ts":\#(end)}"#)
    }
    return #"{"displayTimeUnit":"ms","traceEvents":[\#(events.joined(separator: ",\n"))]}"#
  }

  static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case _ where scalar.value < 32:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
