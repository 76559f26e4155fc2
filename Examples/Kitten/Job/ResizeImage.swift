import ProcedureKit

/// A procedure that makes a picture smaller. A picture that is already small enough is not changed.
struct ResizeImage: Procedure {
  /// The maximum length of the result's longer side, in pixels.
  var size: Int

  func execute(_ image: Image) async throws -> Image {
    let longer = max(image.width, image.height)
    return longer <= size ? image : try image.resized(toFit: size)
  }
}
