import Foundation
import ProcedureKit
import ProcedureKitDiagnostics
import Testing

/// The code of the guide *In a service* that needs ProcedureKitDiagnostics, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct InAServiceGuide {
  func page(_ path: String, of jobs: ProcedureQueue) throws -> (type: String, body: Data)? {
    let snapshot = jobs.snapshot()
    switch path {
    case "/metrics":
      return (PrometheusText.contentType, Data(PrometheusText([snapshot], maxKeys: 50).text.utf8))
    case "/snapshot":
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return ("application/json", try encoder.encode(snapshot))
    default: return nil
    }
  }

  @Test("The pages for Prometheus and for other programs")
  func pages() throws {
    let jobs = ProcedureQueue("jobs", isSuspended: true)
    let job = jobs.add(ProcedureTask("render") {}.keyed(by: "acme"))
    let metrics = try #require(try page("/metrics", of: jobs))
    #expect(metrics.type.hasPrefix("text/plain"))
    let line = #"procedurekit_procedures{queue="jobs",state="waiting",key="acme"} 1"#
    #expect(String(decoding: metrics.body, as: UTF8.self).contains(line))
    let snapshot = try #require(try page("/snapshot", of: jobs))
    #expect(
      try JSONDecoder().decode(QueueSnapshot.self, from: snapshot.body).procedures.map(\.procedure) == [job.identity])
    #expect(try page("/", of: jobs) == nil)
    job.cancel()
  }
}
