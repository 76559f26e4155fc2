/// The reason a file is not a picture. The description is the second half of a sentence that starts with the file's name.
enum PPMProblem: Error, Equatable, CustomStringConvertible {
  case empty
  case wrongMagic(found: String)
  case headerTooLong(limit: Int)
  case endsInHeader(missing: PPMHeader.Field)
  case notANumber(PPMHeader.Field, found: String)
  case numberTooLarge(PPMHeader.Field)
  case zero(PPMHeader.Field)
  case maximumOutOfRange(Int)
  case tooManyPixels(width: Int, height: Int, limit: Int)
  case truncated(width: Int, height: Int, promised: Int?, present: Int)
  case sampleAboveMaximum(sample: Int, maximum: Int)

  var description: String {
    switch self {
    case .empty:
      "is empty"
    case .wrongMagic(let found):
      "is not a binary PPM file: it starts with \(found) instead of \"P6\". Convert it to PPM first"
    case .headerTooLong(let limit):
      "is not a PPM file: its header does not end within \(limit) bytes"
    case .endsInHeader(let missing):
      "is truncated: it ends in the header, before the \(missing.rawValue) is complete"
    case .notANumber(let field, let found):
      "is damaged: its header contains \(found) where the \(field.rawValue) should be"
    case .numberTooLarge(let field):
      "is damaged: the \(field.rawValue) in the header is too large"
    case .zero(let field):
      "has no pixels: the \(field.rawValue) in the header is 0"
    case .maximumOutOfRange(let value):
      "is damaged: the maximum sample in the header is \(value), which is outside 1...65535"
    case .tooManyPixels(let width, let height, let limit):
      "is too large: \(width) × \(height) pixels, but at most \(limit) are supported"
    case .truncated(let width, let height, let promised, let present):
      "is truncated or damaged: the header promises \(width) × \(height) pixels "
        + "(\(promised.map { "\($0)" } ?? "more than 2^63") bytes), but \(present) bytes follow it"
    case .sampleAboveMaximum(let sample, let maximum):
      "is damaged: it contains the sample \(sample), but the maximum in its header is \(maximum)"
    }
  }
}
