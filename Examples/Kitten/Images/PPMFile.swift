import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// A binary PPM file.
struct PPMFile: Hashable, Sendable {
  let path: SystemText

  /// The file's name without its extension.
  var stem: SystemText { path.nameAndExtension.name }

  /// A number that changes if the size or the modification time of the picture at the path changes.
  var stamp: Int {
    let information = try? SystemFiles.information(path)
    #if canImport(Darwin)
      let time = information?.st_mtimespec
    #else
      let time = information?.st_mtim
    #endif
    let change = "\(information?.st_size ?? -1) \(time?.tv_sec ?? 0) \(time?.tv_nsec ?? 0)"
    return Stamp.of("\(SystemFiles.resolved(path) ?? path) \(change)")
  }

  /// Checks that there is a regular file at the path.
  ///
  /// Pipes and devices are refused, because they have no size against which the header can be checked.
  ///
  /// - Throws: ``KittenError`` if there is no regular file, or its attributes cannot be read.
  func checkExistence() throws(KittenError) {
    _ = try size()
  }

  /// Reads and checks the header, without the samples.
  ///
  /// - Throws: ``KittenError`` if the file cannot be read or its header is invalid.
  func header() throws(KittenError) -> PPMHeader {
    try checkExistence()
    let fileSize = try size()
    let prefix = try contents(fileSize: fileSize, limit: PPMHeader.byteLimit)
    return try problemsNamed { () throws(PPMProblem) in try PPMHeader(prefix: prefix, fileSize: fileSize) }
  }

  /// Reads the picture. If a sample has more than 8 bits, the result has 16 bits per sample.
  ///
  /// - Throws: ``KittenError`` if the file cannot be read or is not a picture; `CancellationError` soon after the task is cancelled.
  func image() throws -> Image {
    try Task.checkCancellation()
    let header = try header()
    let end = header.byteCount + header.rasterByteCount
    let bytes = try contents(fileSize: end, limit: end, endsWithCancel: true)
    try Task.checkCancellation()
    guard bytes.count == end else {  // The file has shrunk since its header was read.
      throw KittenError.unreadablePicture(
        path,
        .truncated(
          width: header.width, height: header.height, promised: header.rasterByteCount,
          present: bytes.count - header.byteCount))
    }
    do {
      return try Image(header: header, raster: bytes[header.byteCount...])
    } catch let problem as PPMProblem {
      throw KittenError.unreadablePicture(path, problem)
    }
  }

  private func problemsNamed<Value>(_ body: () throws(PPMProblem) -> Value) throws(KittenError) -> Value {
    do throws(PPMProblem) {
      return try body()
    } catch {
      throw .unreadablePicture(path, error)
    }
  }

  private func size() throws(KittenError) -> Int {
    let information: stat?
    do {
      information = try SystemFiles.information(path)
    } catch {
      throw .unreadableFile(path, SystemError(error))
    }
    guard let status = information else { throw .noSuchFile(path) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path) }
    return Int(status.st_size)
  }

  private func contents(fileSize: Int, limit: Int, endsWithCancel: Bool = false) throws(KittenError) -> [UInt8] {
    let descriptor: Int32
    do {
      descriptor = try SystemFiles.open(path, O_RDONLY)
    } catch {
      throw .unreadableFile(path, SystemError(error))
    }
    defer { close(descriptor) }
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: min(fileSize, limit)) { buffer, count in
      while count < buffer.count, !(endsWithCancel && Task.isCancelled) {
        let received = read(descriptor, buffer.baseAddress?.advanced(by: count), min(buffer.count - count, 1 << 20))
        if received < 0, errno == EINTR { continue }
        if received < 0 { failure = SystemError.latest }
        if received <= 0 { break }
        count += received
      }
    }
    if let failure { throw .unreadableFile(path, failure) }
    return bytes
  }
}
