// Stand-in for the driver's management library: a board with known values, or, if POOR is defined, one that reports few
// values.

#include <cstring>

namespace {

constexpr int success = 0, not_supported = 3, too_small = 7;
int board = 0;

struct Memory {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

int named(char* to, unsigned room, const char* name) {
  std::strncpy(to, name, room);
  return success;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return success; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
  *device = &board;
  return std::strcmp(pci, "0000:1b:00.0") == 0 ? success : 6;
}
int nvmlDeviceGetName(void*, char* to, unsigned room) { return named(to, room, "NVIDIA H200"); }

#ifdef POOR

int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long*) { return not_supported; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4 | 0x400;
  return success;
}

#else

int nvmlSystemGetDriverVersion(char* to, unsigned room) { return named(to, room, "580.65.06"); }
int nvmlDeviceGetClockInfo(void* device, int which, unsigned* mhz) {
  *mhz = which == 1 ? 1755 : which == 2 ? 3201 : 0;
  return device == &board ? success : 2;
}
int nvmlDeviceGetMaxClockInfo(void*, int which, unsigned* mhz) {
  *mhz = which == 1 ? 1980 : 3202;
  return success;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 612345;
  return success;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return success;
}
/// 500 J more at each call.
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  static unsigned long long now = 0;
  *millijoules = now += 500000;
  return success;
}
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* celsius) {
  *celsius = 41;
  return sensor == 0 ? success : not_supported;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4 | 0x20;
  return success;
}
/// Rejects a structure of another size, as the real library does.
int nvmlDeviceGetMemoryInfo_v2(void*, Memory* m) {
  if (m->version != (40U | (2U << 24))) return 25;
  m->total = 150754820096;
  m->reserved = 618659840;
  m->free = 150000000000;
  m->used = 136160256;
  return success;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void* list) {
  const int status = *count >= 3 && list != nullptr ? success : too_small;
  *count = 3;
  return status;
}

#endif
}
