import ProcedureKit

/// A picture that was written.
struct Thumbnail: Codable, Equatable, Sendable {
  let fileName: SystemText
  let width: Int
  let height: Int
  let byteCount: Int
}
