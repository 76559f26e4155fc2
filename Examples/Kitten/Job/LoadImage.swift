import ProcedureKit

/// A procedure that reads a picture.
struct LoadImage: InputlessProcedure {
  var file: PPMFile

  func execute() async throws -> Image {
    try file.image()
  }
}
