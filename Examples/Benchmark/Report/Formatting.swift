import Foundation

extension Int {
  /// The number with commas between the thousands.
  var grouped: String {
    let digits = String(magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return self < 0 ? "-" + text : text
  }
}

extension Double {
  /// The number with two decimal places, or none if it is large.
  var brief: String {
    String(format: abs(self) < 100 ? "%.2f" : "%.0f", self)
  }
}

extension String {
  /// Returns the text padded with spaces to the given width.
  func padding(_ width: Int, onTheLeft: Bool = false) -> String {
    let spaces = String(repeating: " ", count: Swift.max(0, width - count))
    return onTheLeft ? spaces + self : self + spaces
  }
}
