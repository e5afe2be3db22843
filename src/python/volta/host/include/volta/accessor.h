// Views of a tensor by its sizes and strides; the packed ones are passed to kernels by value, laid out as torch's.
#pragma once
namespace at {
template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t> struct AccessorView {
  using Ptr = typename P<T>::PtrType;
  Ptr data_;
  const I* sizes_;
  const I* strides_;
  VOLTA_BOTH AccessorView(Ptr data, const I* sizes, const I* strides) : data_(data), sizes_(sizes), strides_(strides) {}
  VOLTA_BOTH I size(I i) const { return sizes_[i]; }
  VOLTA_BOTH I stride(I i) const { return strides_[i]; }
  VOLTA_BOTH Ptr data() const { return data_; }
  VOLTA_BOTH decltype(auto) operator[](I i) const {
    if constexpr (N == 1) return (data_[strides_[0] * i]);
    else return AccessorView<T, N - 1, P, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
};
template <class T, size_t N> struct TensorAccessor {
  T* data_;
  std::array<int64_t, N> sizes_, strides_;
  int64_t size(int64_t i) const { return sizes_[i]; }
  int64_t stride(int64_t i) const { return strides_[i]; }
  T* data() const { return data_; }
  decltype(auto) operator[](int64_t i) const { return AccessorView<T, N>(data_, sizes_.data(), strides_.data())[i]; }
};
template <class T, size_t N, template <class> class P, class I> struct GenericPackedTensorAccessor {
  typename P<T>::PtrType data_;
  I sizes_[N];
  I strides_[N];
  VOLTA_BOTH I size(I i) const { return sizes_[i]; }
  VOLTA_BOTH I stride(I i) const { return strides_[i]; }
  VOLTA_BOTH auto data() const { return data_; }
  VOLTA_BOTH decltype(auto) operator[](I i) const {
    if constexpr (N == 1) return (data_[strides_[0] * i]);
    else return AccessorView<T, N - 1, P, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
};
template <class T, size_t N> TensorAccessor<T, N> Tensor::accessor() const {
  if (dim() != int64_t(N)) throw Error(str("TensorAccessor expected ", N, " dims but tensor has ", dim()));
  TensorAccessor<T, N> out{data_ptr<T>(), {}, {}};
  for (size_t i = 0; i < N; ++i) { out.sizes_[i] = size(i); out.strides_[i] = stride(i); }
  return out;
}
template <class T, size_t N, template <class> class P, class I> GenericPackedTensorAccessor<T, N, P, I> Tensor::packed_accessor() const {
  if (dim() != int64_t(N)) throw Error(str("expected ", N, " dims but tensor has ", dim()));
  GenericPackedTensorAccessor<T, N, P, I> out{data_ptr<T>(), {}, {}};
  for (size_t i = 0; i < N; ++i) { out.sizes_[i] = I(size(i)); out.strides_[i] = I(stride(i)); }
  return out;
}
template <class T, size_t N, template <class> class P> GenericPackedTensorAccessor<T, N, P, int32_t> Tensor::packed_accessor32() const { return packed_accessor<T, N, P, int32_t>(); }
template <class T, size_t N, template <class> class P> GenericPackedTensorAccessor<T, N, P, int64_t> Tensor::packed_accessor64() const { return packed_accessor<T, N, P, int64_t>(); }
}  // namespace at
