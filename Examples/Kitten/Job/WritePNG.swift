import ProcedureKit

/// A procedure that writes a picture to a file, completely or not at all.
struct WritePNG: Procedure {
  var directory: OutputDirectory
  var fileName: SystemText

  func execute(_ image: Image) async throws -> Thumbnail {
    let bytes = try PNGEncoder.encode(image)
    try AtomicFile.write(bytes, to: directory.path(of: fileName))
    return Thumbnail(fileName: fileName, width: image.width, height: image.height, byteCount: bytes.count)
  }
}
