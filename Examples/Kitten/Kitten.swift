@main
struct Kitten {
  static func main() throws {
    let header = try PPMFile(path: SamplePhotograph.path).header()
    print("\(header.width) × \(header.height)")
  }
}
