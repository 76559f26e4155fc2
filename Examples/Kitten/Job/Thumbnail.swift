/// A picture that was written.
struct Thumbnail: Codable, Equatable, Sendable {
  let fileName: String
  let width: Int
  let height: Int
  let byteCount: Int
}
