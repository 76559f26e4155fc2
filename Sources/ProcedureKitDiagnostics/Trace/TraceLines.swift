/// A builder for the lines of a trace in the Chrome trace event format. A trace is an array of objects, with one object on each line.
///
/// Every line except the first begins with a comma, so that viewers can open the trace even if the array was never closed. See the
/// [description of the format](https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
struct TraceLines {
  /// A position in the trace, which consists of a queue, a lane and a time.
  struct Place {
    /// The number that identifies the queue. The trace format calls a queue a process.
    let queue: Int
    /// The number that identifies the lane, or 0 for the queue as a whole. The trace format calls a lane a thread.
    let lane: Int
    /// The time in nanoseconds since the recording began.
    let time: Int64
  }

  enum Value {
    case text(String)
    case number(Int)
  }

  private var json = JSONBytes()
  private var isEmpty = true

  /// The number of bytes that have not been removed yet.
  var count: Int { json.bytes.count }

  mutating func take() -> [UInt8] { json.take() }

  // MARK: Lines

  /// Begins a slice for an execution.
  mutating func begin(_ name: String, at place: Place, _ details: [(StaticString, Value)]) {
    line("B", name, "run", place) { $0.details(details) }
  }

  /// Ends the latest slice in a lane.
  mutating func end(at place: Place) {
    line("E", nil, "run", place)
  }

  /// Begins or ends a wait. Waits of different runs may overlap.
  mutating func wait(_ name: String, of run: String, begins: Bool, at place: Place) {
    line(begins ? "b" : "e", name, "wait", place) { json in
      json.append(",\"id\":")
      json.append(string: run)
    }
  }

  /// Draws an instant event in a lane, or, if the lane is 0, for the whole queue.
  mutating func instant(_ name: String, at place: Place, _ details: [(StaticString, Value)] = []) {
    line("i", name, "run", place) { json in
      if place.lane == 0 { json.append(",\"s\":\"p\"") } else { json.append(",\"s\":\"t\"") }
      json.details(details)
    }
  }

  /// Draws an arrow from the end of a dependency to the beginning of a dependent.
  mutating func arrow(number: Int, from start: Place, to end: Place) {
    line("s", "dependency", "dependency", start) { json in
      json.append(",\"id\":")
      json.append(number)
    }
    line("f", "dependency", "dependency", end) { json in
      json.append(",\"bp\":\"e\",\"id\":")
      json.append(number)
    }
  }

  /// Names a queue or a lane.
  mutating func name(_ kind: StaticString, _ name: String, at place: Place) {
    line("M", kind.description, nil, place) { $0.details([("name", .text(name))]) }
  }

  /// Sets the position of a lane among the lanes of a queue.
  mutating func sort(_ index: Int, at place: Place) {
    line("M", "thread_sort_index", nil, place) { $0.details([("sort_index", .number(index))]) }
  }

  /// Closes the array.
  mutating func close() {
    if isEmpty { json.append("[") }
    json.append("\n]\n")
  }

  private mutating func line(
    _ phase: StaticString, _ name: String?, _ category: StaticString?, _ place: Place,
    _ more: (inout JSONBytes) -> Void = { _ in }
  ) {
    if isEmpty { json.append("[{\"ph\":\"") } else { json.append("\n,{\"ph\":\"") }
    isEmpty = false
    json.append(phase)
    json.append("\",\"pid\":")
    json.append(place.queue)
    json.append(",\"tid\":")
    json.append(place.lane)
    json.append(",\"ts\":")
    json.append(microseconds: max(place.time, 0))
    if let name {
      json.append(",\"name\":")
      json.append(string: name)
    }
    if let category {
      json.append(",\"cat\":\"")
      json.append(category)
      json.append("\"")
    }
    more(&json)
    json.append("}")
  }
}

extension JSONBytes {
  fileprivate mutating func details(_ details: [(StaticString, TraceLines.Value)]) {
    guard !details.isEmpty else { return }
    append(",\"args\":{")
    for (index, (key, value)) in details.enumerated() {
      if index > 0 { append(",") }
      append("\"")
      append(key)
      append("\":")
      switch value {
      case .text(let text): append(string: text)
      case .number(let number): append(number)
      }
    }
    append("}")
  }
}
