import ProcedureKit

/// Makes a picture smaller. A picture that is small enough is not changed.
struct ResizeImage: Procedure {
  /// The longer side of the result in pixels, at most.
  var size: Int

  func execute(_ image: Image) async throws -> Image {
    let longer = max(image.width, image.height)
    return longer <= size ? image : try image.resized(toFit: size)
  }
}
