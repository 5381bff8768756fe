// Runs a peer that is a JavaScript module, for peers.py. Prints the items it computed and its CPU seconds, without loading.
//   tsx bench/peers.mjs llm-cluster-simulator FOLDER GPUS BATCH      plans that its optimizer simulates
//   node bench/peers.mjs inference-lab FOLDER REQUESTS RATE          simulated requests
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const [peer, folder, count, rate] = process.argv.slice(2).map((a, i) => (i < 2 ? a : Number(a)));

async function clusterSimulator() {
  const core = resolve(folder, "llm-cluster-simulator/src/core");
  const { optimizeTraining } = await import(`${core}/simulation/optimizer.ts`);
  const { createMultiNodeCluster } = await import(`${core}/hardware/topology.ts`);
  const start = {
    clusterConfig: createMultiNodeCluster("a100-80gb", 8, count / 8),
    modelId: "gpt3-175b",
    globalBatchSize: rate,
    microBatchSize: 1,
    sequenceLength: 2048,
    strategyType: "ddp-tp-pp",
    strategyConfig: { tp: 8, pp: 8 },
    activationCheckpointing: true,
    flashAttention: true,
    mixedPrecision: "bf16",
  };
  return () => optimizeTraining(start, 300e9, 2048).totalSimulations;
}

async function inferenceLab() {
  const lab = resolve(folder, "node_modules/@doublewordai/inference-lab");
  const { initSync, run_simulation } = await import(`${lab}/inference_lab.js`);
  initSync({ module: readFileSync(`${lab}/inference_lab_bg.wasm`) });
  const server = {
    hardware: { name: "H100", compute_flops: 989e12, memory_bandwidth: 3.35e12, memory_capacity: 80 * 2 ** 30, bytes_per_param: 2 },
    model: {
      name: "Llama-3.1-8B",
      num_parameters: 8030261248,
      num_layers: 32,
      hidden_dim: 4096,
      num_heads: 32,
      num_kv_heads: 8,
      max_seq_len: 131072,
    },
    scheduler: { max_num_batched_tokens: 8192, max_num_seqs: 256, policy: "fcfs", enable_chunked_prefill: true, block_size: 16 },
    workload: {
      arrival_pattern: "poisson",
      arrival_rate: rate,
      num_requests: count,
      seed: 1,
      input_len_dist: { type: "fixed", value: 500 },
      output_len_dist: { type: "fixed", value: 200 },
    },
    simulation: { log_interval: 1000000 },
  };
  return () => run_simulation(JSON.stringify(server)).metrics.completed_requests;
}

const run = await { "llm-cluster-simulator": clusterSimulator, "inference-lab": inferenceLab }[peer]();
const before = process.cpuUsage();
const items = run();
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ items, seconds: (user + system) / 1e6 }));
