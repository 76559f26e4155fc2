extension Duration {
  /// The duration in seconds.
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// The duration with three significant digits, for example `1.25 s`, `340 ms` or `12.5 µs`. A duration of a minute or more is shown in
  /// two whole units, for example `2 min 5 s`.
  var short: String {
    let seconds = inSeconds
    let magnitude = seconds.magnitude
    if magnitude >= 60 {
      let whole = Int(magnitude.rounded())
      let (hours, minutes, rest) = (whole / 3_600, whole / 60 % 60, whole % 60)
      return (seconds < 0 ? "-" : "") + (hours > 0 ? "\(hours) h \(minutes) min" : "\(minutes) min \(rest) s")
    }
    let units: [(size: Double, name: String)] = [(1, "s"), (1e-3, "ms"), (1e-6, "µs")]
    guard let unit = units.first(where: { magnitude >= $0.size * 0.9995 }) else {
      return magnitude == 0 ? "0 s" : "< 1 µs"
    }
    return Self.number(seconds / unit.size) + " " + unit.name
  }

  /// Returns the number with three significant digits, without trailing zeros.
  private static func number(_ value: Double) -> String {
    let places = value.magnitude >= 99.95 ? 0 : value.magnitude >= 9.995 ? 1 : 2
    let factor = [1.0, 10, 100][places]
    let rounded = (value * factor).rounded() / factor
    return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
  }
}
