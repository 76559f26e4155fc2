import ProcedureKit

/// Makes a picture smaller, or larger.
struct ResizeImage: Procedure {
  /// The longer side of the result, in pixels.
  var size: Int

  func execute(_ image: Image) async throws -> Image {
    try image.resized(toFit: size)
  }
}
