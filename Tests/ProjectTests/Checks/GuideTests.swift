import Testing

@Suite struct GuideTests {
  @Test("Each module has a landing page of its name in a documentation catalog")
  func landingPages() {
    let modules = Checkout.manifest.targets.filter { $0.kind == "target" && $0.folder.hasPrefix("Sources/") }.map(
      \.name)
    #expect(!modules.isEmpty)
    for module in modules {
      let path = "Sources/\(module)/\(module).docc/\(module).md"
      #expect(Checkout.guides.first { $0.path == path }?.lines.first == "# ``\(module)``", "\(path)")
    }
  }

  @Test("The guides' blocks are closed, and their code is a piece of an example or a test that is compiled")
  func snippets() {
    for guide in Checkout.guides {
      Finding.record(guide.findingsOnFences + guide.findingsOnSnippets(in: Checkout.examples))
    }
  }

  @Test("The core's landing page and the run's lifecycle agree on what may follow each state")
  func lifecycle() throws {
    let page = try #require(Checkout.guides.first { $0.path.hasSuffix("/ProcedureKit.md") })
    let machine = try #require(Checkout.text(of: "Sources/ProcedureKit/Engine/Machine/RunLifecycle.swift"))
    let documented = LifecycleSuccessors(guide: page.lines)
    #expect(documented.byState.count == 7)
    #expect(documented == LifecycleSuccessors(machine: machine.split(separator: "\n")))
  }
}
