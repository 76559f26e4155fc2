import ProcedureKit

/// Reads a picture.
struct LoadImage: Procedure {
  var file: PPMFile

  func execute(_: Void) async throws -> Image {
    try file.image()
  }
}
